/** The page: the list of panes, what is wrong with the connection, and the pane of the address. */

import type { ComponentChildren, ComponentType } from "preact";
import { useEffect, useErrorBoundary, useState } from "preact/hooks";
import { Banners } from "./banners";
import { zone } from "./lib/format";
import { go, place } from "./lib/router";
import { type Theme, theme } from "./lib/theme";
import { connection, status } from "./live/connection";
import { graveCount } from "./live/faults";
import { login, logOut, may } from "./live/me";
import { PANES, type PaneProps, paneAt } from "./panes";
import { LogIn } from "./panes/login";
import { Questions } from "./ui/action";
import { Empty } from "./ui/panel";
import { Loading } from "./ui/problem_box";
import { Toasts, tellError } from "./ui/toasts";

export function App() {
  const now = login.value;
  if (now.state === "asking") return <Loading what="Asking the server who you are" />;
  if (now.state === "out") return <LogIn why={now.why} />;
  return (
    <div class="shell">
      <Side />
      <main class="main" id="main" tabIndex={-1}>
        <Banners />
        <CurrentPane />
        <p class="foot">
          Times are in your zone, {zone()}.{" "}
          {status.value?.policy && (
            <>
              Decided by{" "}
              <a href={`/policies/${encodeURIComponent(policyName(status.value.policy))}`}>{status.value.policy}</a>.
            </>
          )}
        </p>
      </main>
      <Questions />
      <Toasts />
    </div>
  );
}

const policyName = (policy: string): string => policy.split(",")[0]!.trim();

function Side() {
  const [open, setOpen] = useState(false);
  const here = paneAt(place.value.path)?.pane.path;
  const wrong = graveCount.value;
  useEffect(() => setOpen(false), [place.value.path]);
  return (
    <header class={`side ${open ? "open" : ""}`}>
      <a class="hidden-text" href="#main">
        Skip to the content
      </a>
      <a class="brand" href="/">
        <img src="/icon.svg" alt="" />
        Headgate
      </a>
      <button type="button" class="button menu-button" aria-expanded={open} onClick={() => setOpen(!open)}>
        Menu
      </button>
      <div class="folding">
        {may("submit") && (
          <a class="button primary" href="/new">
            New query
          </a>
        )}
        <nav class="nav" aria-label="Panes">
          {PANES.filter((pane) => pane.inMenu).map((pane) => (
            <a key={pane.path} href={`/${pane.path}`} aria-current={pane.path === here ? "page" : undefined}>
              {pane.title}
              {pane.path === "" && wrong > 0 && (
                <span class="bubble" title={`${wrong} things are wrong`}>
                  {wrong}
                </span>
              )}
            </a>
          ))}
        </nav>
        <div class="spread" />
        <Who />
      </div>
    </header>
  );
}

function Who() {
  const now = login.value;
  if (now.state !== "in") return null;
  const { me } = now;
  return (
    <div class="who">
      <ConnectionMark />
      <label class="row">
        Theme
        <select value={theme.value} onChange={(event) => (theme.value = event.currentTarget.value as Theme)}>
          <option value="system">as the system</option>
          <option value="light">light</option>
          <option value="dark">dark</option>
        </select>
      </label>
      <a href="/login" title="What you may do">
        {me.name}: {me.role}
        {me.tenant && `, tenant ${me.tenant}`}
      </a>
      {me.csrf && (
        <button type="button" class="button" onClick={() => logOut().then(() => go("/"), tellError)}>
          Log out
        </button>
      )}
    </div>
  );
}

function ConnectionMark() {
  const state = connection.value.state;
  const [kind, text] =
    state === "live" ? ["good", "live"] : state === "lost" ? ["bad", "connection lost"] : ["", "connecting"];
  return (
    <span>
      <span class={`badge ${kind}`}>{text}</span>
    </span>
  );
}

/** The pane of the address; its code is loaded when it is first needed. */
function CurrentPane() {
  const found = paneAt(place.value.path);
  const [loaded, setLoaded] = useState<{ path: string; Pane: ComponentType<PaneProps> } | null>(null);
  const [failed, setFailed] = useState(false);
  const path = found?.pane.path;
  useEffect(() => {
    const pane = PANES.find((one) => one.path === path);
    document.title = pane ? `${pane.title} · Headgate` : "Headgate";
    setFailed(false);
    pane?.load().then(
      (module) => setLoaded({ path: pane.path, Pane: module.default }),
      () => setFailed(true), // the server was replaced by one with other files, or does not answer
    );
  }, [path]);
  if (!found) {
    return (
      <Empty title="There is no such page">
        <a href="/">Go to the overview</a>
      </Empty>
    );
  }
  if (failed) {
    return (
      <Empty title="This part of the page could not be loaded">
        <button type="button" class="button" onClick={() => window.location.reload()}>
          Load the page again
        </button>
      </Empty>
    );
  }
  if (!loaded || loaded.path !== path) return <Loading />;
  return (
    <Guarded key={place.value.path}>
      <loaded.Pane name={found.name} />
    </Guarded>
  );
}

/** A fault of a pane is told in its place, and leaves the rest of the page as it is. */
function Guarded({ children }: { children: ComponentChildren }) {
  const [error] = useErrorBoundary((fault) => console.error(fault));
  if (!error) return <>{children}</>;
  return (
    <Empty title="This part of the page has failed">
      <p>{String(error)}</p>
      <button type="button" class="button" onClick={() => window.location.assign(place.value.path)}>
        Load it again, without what was chosen in it
      </button>
    </Empty>
  );
}
