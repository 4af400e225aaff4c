// The form that asks for a token.
import { html, useState } from "../vendor/htm-preact.js";
import { setToken } from "../api.js";
import { Card } from "../elements.js";
import { loadSession, snapshot } from "../state.js";

/** Where no token is asked for: the page of somebody without a role. */
export const NoRole = ({ why }) => html`<div class="login"><h1 tabindex="-1">No access</h1><${Card}><div class="note bad" role="alert"><p>${why ?? "You have no role in this dashboard."}</p></div></${Card}></div>`;

export function Login() {
  const [typed, setTyped] = useState("");
  const [error, setError] = useState(null);
  const submit = async (event) => {
    event.preventDefault();
    if (!typed.trim()) return;
    setToken(typed.trim());
    await loadSession();
    const { failure, session } = snapshot();
    if (failure || session?.role === "none") {
      setToken(null);
      setError(failure ? failure.message : "This token gives no access to the dashboard: it needs the role read or operate.");
    }
  };
  return html`<div class="login"><h1 tabindex="-1">Sign in</h1><${Card}><form class="stack" onSubmit=${submit}>
    <div class="field"><label for="token">Token</label><input id="token" type="password" autocomplete="off" spellcheck=${false} value=${typed} onInput=${(event) => setTyped(event.target.value)} aria-describedby="token-hint" />
      <span class="hint" id="token-hint">A JWT with access to this server. It is kept in this tab until you close it, and never stands in an address.</span></div>
    ${error && html`<div class="note bad" role="alert"><p>${error}</p></div>`}<div><button type="submit" class="button primary">Sign in</button></div></form></${Card}></div>`;
}
