import type { Problem } from "../api/client";

/** What the server refused, in its own words. */
export function ProblemBox({ problem, retry }: { problem: Problem | null; retry?: () => void }) {
  if (!problem) return null;
  return (
    <div class={`problem ${problem.passing ? "passing" : ""}`} role="alert">
      {problem.detail}
      {retry && (
        <>
          {" "}
          <button type="button" class="button quiet" onClick={retry}>
            Try again
          </button>
        </>
      )}
    </div>
  );
}

/** What is shown until the first answer has come. */
export function Loading({ what = "Loading" }: { what?: string }) {
  return (
    <p class="quiet-text" role="status">
      {what}…
    </p>
  );
}
