/** Streams and tables: what there is, and one stream in full. */

import type { PaneProps } from "../../panes";
import { StreamList } from "./list";
import { StreamPage } from "./stream_page";
import "../../ui/forms.css";
import "./streams.css";

export default function Streams({ name }: PaneProps) {
  return name ? <StreamPage name={name} /> : <StreamList />;
}
