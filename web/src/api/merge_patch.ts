/** JSON merge patches (RFC 7396). */

type Json = unknown;

const isObject = (value: Json): value is Record<string, Json> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * The document that a patch makes of another one. What the patch does not touch is the same object as before, so that
 * whoever draws it can tell by identity that nothing has changed.
 */
export function merged<T>(target: T, patch: Json): T {
  if (!isObject(patch)) return patch as T;
  const result: Record<string, Json> = isObject(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name];
    else result[name] = merged(result[name], value);
  }
  return result as T;
}
