/** Other SQL for a query that was typed and not sent: it survives a look elsewhere, a reload, and the query itself. */

const KEY = "headgate-replace:";

/** What was typed for a query; null if nothing was. */
export function replaceDraft(name: string): string | null {
  try {
    return window.sessionStorage.getItem(KEY + name);
  } catch {
    return null; // the browser keeps nothing for this page
  }
}

/** Keep what was typed for a query; null: nothing. */
export function keepReplaceDraft(name: string, sql: string | null): void {
  try {
    if (sql === null) window.sessionStorage.removeItem(KEY + name);
    else window.sessionStorage.setItem(KEY + name, sql);
  } catch {
    // it is lost when the page is left
  }
}
