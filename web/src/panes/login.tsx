/** Logging in with a token. */

import { useState } from "preact/hooks";
import { Problem } from "../api/client";
import { go, place } from "../lib/router";
import { logIn } from "../live/me";
import { Field } from "../ui/field";
import { ProblemBox } from "../ui/problem_box";
import "./login.css";

export function LogIn({ why }: { why: string }) {
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    try {
      await logIn(token.trim());
      if (place.value.path === "/login") go("/", { replace: true }); // elsewhere the pane of the address appears
    } catch (error) {
      setProblem(error instanceof Problem ? error : new Problem(0, String(error)));
      setBusy(false);
    }
  };
  return (
    <main class="login">
      <form class="panel" onSubmit={submit}>
        <h1>
          <img src="/icon.svg" alt="" /> Headgate
        </h1>
        {why && <p class="notice">{why}</p>}
        <Field label="Token" hint="headgate token add NAME --role view makes one on the server; it is shown once.">
          <input
            type="password"
            autocomplete="current-password"
            required
            value={token}
            onInput={(event) => setToken(event.currentTarget.value)}
          />
        </Field>
        <ProblemBox problem={problem} />
        <button type="submit" class="button primary" disabled={busy || !token.trim()}>
          Log in
        </button>
      </form>
    </main>
  );
}
