/** All panes: their addresses, their titles, and how they are loaded. A pane's code is fetched when it is first shown. */

import type { ComponentType } from "preact";

export interface PaneProps {
  name: string; // the rest of the address after the pane's own, decoded: /queries/hot has "hot"
}

export interface Pane {
  path: string; // its first part, without slashes
  title: string;
  inMenu?: boolean;
  load: () => Promise<{ default: ComponentType<PaneProps> }>;
}

export const PANES: readonly Pane[] = [
  { path: "", title: "Overview", inMenu: true, load: () => import("./panes/overview") },
  { path: "timeline", title: "Timeline", inMenu: true, load: () => import("./panes/timeline") },
  { path: "queries", title: "Queries", inMenu: true, load: () => import("./panes/queries") },
  { path: "streams", title: "Streams", inMenu: true, load: () => import("./panes/streams") },
  { path: "network", title: "Network", inMenu: true, load: () => import("./panes/network") },
  { path: "classes", title: "Classes", inMenu: true, load: () => import("./panes/classes") },
  { path: "policies", title: "Policies", inMenu: true, load: () => import("./panes/policies") },
  { path: "what-if", title: "What-if", inMenu: true, load: () => import("./panes/what_if") },
  { path: "inversions", title: "Inversions", inMenu: true, load: () => import("./panes/inversions") },
  { path: "login", title: "Logged in", load: () => import("./panes/account") },
  { path: "new", title: "New query", load: () => import("./panes/new_query") },
];

/** The pane of an address, and the name that the address has after it; undefined if there is none. */
export function paneAt(path: string): { pane: Pane; name: string } | undefined {
  const [first = "", ...rest] = path.replace(/^\/+|\/+$/g, "").split("/");
  const pane = PANES.find((one) => one.path === first);
  if (!pane) return undefined;
  try {
    return { pane, name: decodeURIComponent(rest.join("/")) };
  } catch {
    return undefined;
  }
}
