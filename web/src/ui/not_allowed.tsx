import { login } from "../live/me";
import { Empty, Panel } from "./panel";

/** Shown instead of what the present user may not do: says who may. */
export function NotAllowed({ what }: { what: string }) {
  const now = login.value;
  if (now.state !== "in") return null;
  const { me } = now;
  return (
    <Panel title="Not for you">
      <Empty title={`You may not ${what}`}>
        {me.tenant ? (
          <p>
            This concerns what all tenants share, and you are limited to the tenant <strong>{me.tenant}</strong>.
            Somebody with the role operate and no tenant may.
          </p>
        ) : (
          <p>
            That takes the role operate, and yours is <strong>{me.role}</strong>. Whoever runs the server can give you a
            token with it: <code>headgate token add NAME --role operate</code>.
          </p>
        )}
      </Empty>
    </Panel>
  );
}
