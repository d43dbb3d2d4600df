import { render } from "preact";
import { App } from "./app";
import { followLinks } from "./lib/router";
import { applyTheme } from "./lib/theme";
import { begin } from "./live/me";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/layout.css";
import "./styles/components.css";

applyTheme();
followLinks();
void begin();
render(<App />, document.getElementById("app")!);
