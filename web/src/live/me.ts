/** Who uses this page, and what they may do. */

import { signal } from "@preact/signals";
import { get, onUnauthorized, Problem, post, setCsrf } from "../api/client";
import type { Me, Role } from "../api/types";
import { connect, disconnect, onFailure, status } from "./connection";

export type Login = { state: "asking" } | { state: "in"; me: Me } | { state: "out"; why: string };

export const login = signal<Login>({ state: "asking" });

const RANK: Record<Role, number> = { view: 0, submit: 1, operate: 2 };

/** Whether the present user may do what a role may; `shared`: what all tenants share, so not for one of them. */
export function may(role: Role, { shared = false } = {}): boolean {
  const now = login.value;
  return now.state === "in" && RANK[now.me.role] >= RANK[role] && !(shared && now.me.tenant !== "");
}

/** Find out who asks; then listen to what happens. */
export async function begin(): Promise<void> {
  onUnauthorized(ended);
  onFailure(() => void askAgain());
  try {
    entered(await get<Me>("/v1/me"));
  } catch (error) {
    if (!(error instanceof Problem) || error.status !== 401) window.setTimeout(begin, 1000);
  }
}

/** Whether we are still logged in: a token may be revoked, and a server started anew may know us by something else. */
async function askAgain(): Promise<void> {
  try {
    const me = await get<Me>("/v1/me");
    if (login.value.state !== "in") return;
    setCsrf(me.csrf);
    login.value = { state: "in", me };
  } catch {
    // the server is away, and the connection is tried again; or it does not know us, which was told already
  }
}

/** Log in with a token. */
export async function logIn(token: string): Promise<void> {
  await post("/v1/login", { token });
  entered(await get<Me>("/v1/me"));
}

export async function logOut(): Promise<void> {
  await post("/v1/logout");
  leave("");
}

function entered(me: Me): void {
  setCsrf(me.csrf);
  login.value = { state: "in", me };
  connect();
}

function ended(): void {
  leave(login.value.state === "in" ? "Your login has ended: log in again." : "");
}

function leave(why: string): void {
  disconnect();
  status.value = null;
  login.value = { state: "out", why };
}
