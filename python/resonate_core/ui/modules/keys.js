// Keyboard shortcuts: the list that the help shows, and the listener.
import { html } from "./vendor/htm-preact.js";
import { Modal } from "./actions.js";
import { Button } from "./elements.js";
import { go } from "./router.js";
import { setting, snapshot, touched, update, useShared } from "./state.js";

const PLACES = { o: "overview", q: "queues", j: "jobs", g: "groups", w: "workflows", s: "schedules", k: "workers", m: "messages", y: "why", t: "travel", a: "audit" };
const NAMES = { travel: "time travel", why: "why is it stuck" };

const LIST = [
  ["/", "Find an id"],
  ["?", "This help"],
  ...Object.entries(PLACES).map(([key, place]) => [`g ${key}`, `Go to ${NAMES[place] ?? place}`]),
  ["j", "Next row"],
  ["k", "Previous row"],
  ["Enter", "Open the row"],
  ["x", "Select the row"],
  ["n", "Next page"],
  ["c", "Enqueue a job"],
  ["r", "Read again"],
  ["p", "Pause or follow"],
  ["d", "Light, dark or automatic"],
  ["z", "Local time or UTC"],
  ["Esc", "Close"],
];

export const nextTheme = () => {
  const order = ["auto", "light", "dark"];
  setting("theme", order[(order.indexOf(snapshot().settings.theme) + 1) % 3]);
};

let prefix = -Infinity;

function move(step) {
  const rows = [...document.querySelectorAll("main [data-row]")];
  if (!rows.length) return;
  const at = rows.findIndex((row) => row.contains(document.activeElement));
  const row = rows[at < 0 ? (step > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + step))];
  (row.querySelector("[data-open]") ?? row.querySelector("a, button, input"))?.focus();
  row.scrollIntoView({ block: "nearest" });
}

const SINGLE = {
  "/": () => document.getElementById("find")?.focus(),
  "?": () => update({ dialog: { type: "help" } }),
  j: () => move(1),
  k: () => move(-1),
  x: () => document.activeElement?.closest("[data-row]")?.querySelector("[data-check]")?.click(),
  n: () => document.querySelector("[data-next]")?.click(),
  c: () => go("enqueue"),
  r: touched,
  p: () => setting("follow", !snapshot().settings.follow),
  d: nextTheme,
  z: () => setting("utc", !snapshot().settings.utc),
};

/** Hears the shortcuts; typing, dialogues and keys of the browser are left alone. */
export function hearKeys() {
  const hear = (event) => {
    const { dialog, settings } = snapshot();
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || dialog) return;
    if (event.target.closest("input:not([type=checkbox]), textarea, select, [contenteditable], .rt-timeline, [role=tree]")) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (!settings.keys && event.key !== "?") return;
    const after = performance.now() - prefix < 1_500;
    prefix = -Infinity;
    if (after && PLACES[event.key]) go(PLACES[event.key]);
    else if (event.key === "g") prefix = performance.now();
    else if (SINGLE[event.key]) SINGLE[event.key]();
    else return;
    event.preventDefault();
  };
  document.addEventListener("keydown", hear);
  return () => document.removeEventListener("keydown", hear);
}

export function Help({ close }) {
  const { settings } = useShared();
  return html`<${Modal} title="Keyboard" close=${close} footer=${html`<${Button} onClick=${close}>Close</${Button}>`}>
    <dl class="help-list">${LIST.map(([keys, what]) => html`<div key=${keys}><dt>${keys.split(" ").map((key) => html`<kbd>${key}</kbd>`)}</dt><dd>${what}</dd></div>`)}</dl>
    <label class="row"><input type="checkbox" checked=${settings.keys} onChange=${(event) => setting("keys", event.target.checked)} /> Shortcuts of one key are on</label>
  </${Modal}>`;
}
