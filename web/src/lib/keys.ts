/** A text that nobody else makes, for `Idempotency-Key`: a request that is sent again with it is done once. */
export function newKey(): string {
  const numbers = crypto.getRandomValues(new Uint8Array(16)); // randomUUID() needs https
  return Array.from(numbers, (number) => number.toString(16).padStart(2, "0")).join("");
}
