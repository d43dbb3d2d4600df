/** Queries: all of them, or the page of one. */

import type { PaneProps } from "../../panes";
import { QueryList } from "./list";
import { QueryPage } from "./query";
import "./queries.css";

export default function Queries({ name }: PaneProps) {
  return name ? <QueryPage name={name} /> : <QueryList />;
}
