/** Who is logged in, and what that allows: shown at /login to those who are in already. */

import type { Me, Role } from "../../api/types";
import { login, logOut } from "../../live/me";
import { Action } from "../../ui/action";
import { PageHead, Panel } from "../../ui/panel";

const MAY: Record<Role, string> = {
  view: "look at everything, and change nothing",
  submit: "look, define streams, submit queries, push rows, and pause, move or stop queries",
  operate: "do everything: also classes, policies and what-if",
};

export default function Account() {
  const now = login.value;
  if (now.state !== "in") return null;
  const { me } = now;
  return (
    <>
      <PageHead
        title="Logged in"
        actions={
          me.csrf && (
            <Action run={logOut} kind="danger">
              Log out
            </Action>
          )
        }
      />
      <Panel title={me.name}>
        <dl class="fact-list">
          <dt>role</dt>
          <dd>
            <strong>{me.role}</strong>: you may {MAY[me.role]}
          </dd>
          <dt>tenant</dt>
          <dd>{tenantText(me)}</dd>
          {me.limits?.classes && (
            <>
              <dt>classes</dt>
              <dd>{me.limits.classes.join(", ")}</dd>
            </>
          )}
        </dl>
        {!me.csrf && (
          <p class="quiet-text">Nobody has to log in here: the server has no tokens, and answers this machine alone.</p>
        )}
        <p>
          <a href="/">Go to the overview</a>
        </p>
      </Panel>
    </>
  );
}

function tenantText({ tenant, role }: Me): string {
  if (!tenant) return "none: you see everybody's work";
  const beyond = role === "operate" ? "; classes, policies and what-if concern everybody, and are not for tenants" : "";
  return `${tenant}: you see its streams and queries, and that there is other work${beyond}`;
}
