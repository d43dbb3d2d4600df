/** Addresses of the page: the path says which pane, and the query string what is chosen in it. */

import { signal } from "@preact/signals";

export interface Place {
  path: string;
  query: URLSearchParams;
}

const here = (): Place => ({ path: window.location.pathname, query: new URLSearchParams(window.location.search) });

export const place = signal<Place>(here());

/** Go to an address of this page; `replace` leaves no step back. */
export function go(address: string, { replace = false } = {}): void {
  if (replace) window.history.replaceState(null, "", address);
  else window.history.pushState(null, "", address);
  const before = place.value.path;
  place.value = here();
  if (place.value.path !== before) window.scrollTo(0, 0);
}

/** Change what is chosen in the present pane: its address follows, so that it can be kept and sent on. */
export function choose(settings: Record<string, string | null>): void {
  const query = new URLSearchParams(place.value.query);
  for (const [name, value] of Object.entries(settings)) {
    if (value === null || value === "") query.delete(name);
    else query.set(name, value);
  }
  const text = query.toString();
  go(text ? `${place.value.path}?${text}` : place.value.path, { replace: true });
}

export const queryPath = (name: string): string => `/queries/${encodeURIComponent(name)}`;
export const streamPath = (name: string): string => `/streams/${encodeURIComponent(name)}`;

/** Follow links within the page without loading it anew. */
export function followLinks(): void {
  window.addEventListener("popstate", () => {
    place.value = here();
  });
  document.addEventListener("click", (event) => {
    if (
      event.defaultPrevented ||
      event.button !== 0 ||
      event.metaKey ||
      event.ctrlKey ||
      event.shiftKey ||
      event.altKey
    ) {
      return;
    }
    const link = (event.target as Element | null)?.closest?.("a");
    const address = link?.getAttribute("href");
    if (
      !link ||
      !address?.startsWith("/") ||
      address.startsWith("/v1/") ||
      link.target ||
      link.hasAttribute("download")
    ) {
      return;
    }
    event.preventDefault();
    go(address);
  });
}
