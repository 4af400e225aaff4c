// The parts of all views: icons, states, ids, instants, values, cards, failures.
import { html, useState } from "./vendor/htm-preact.js";
import * as text from "./format.js";
import { href } from "./router.js";
import { toast, useShared } from "./state.js";

const CIRCLE = "M8 2.5a5.5 5.5 0 1 0 .01 0";
const PATHS = {
  overview: "M3 13h4v-6H3zM9 13h4V3H9z",
  queues: "M2.5 4h11M2.5 8h11M2.5 12h7",
  jobs: "M3 5.5h10v7.5H3zM6 5.5v-2h4v2M3 9h10",
  groups: "M5 3h6v4H5zM2.5 9.5h5V13h-5zM8.5 9.5h5V13h-5z",
  workflows: "M4 4.5a1.5 1.5 0 1 0 0-.01M12 8a1.5 1.5 0 1 0 0-.01M4 12a1.5 1.5 0 1 0 0-.01M5.5 4h2v4h3M7.5 8v4h-2",
  schedules: `${CIRCLE}M8 5v3l2 1.5`,
  workers: "M8 2.5a2.5 2.5 0 1 0 .01 0M3 13.5c.5-3 2.5-4 5-4s4.5 1 5 4",
  messages: "M2.5 4h11v8h-11zM2.5 4.5 8 9l5.5-4.5",
  why: `${CIRCLE}M6.3 6.5c0-2.2 3.4-2.2 3.4 0 0 1.3-1.7 1.4-1.7 2.7M8 11.3v.2`,
  travel: "M3 8a5 5 0 1 0 1.7-3.7L3 6M3 3v3h3M8 5.5V8l2 1.2",
  audit: "M4 2.5h8v11H4zM6.2 6h3.6M6.2 8.5h3.6M6.2 11h2",
  search: "M7 2.8a4.2 4.2 0 1 0 .01 0M10.2 10.2l3.3 3.3",
  copy: "M5.5 5.5h7v7h-7zM3.5 10.5v-7h7",
  check: "M3.5 8.5 6.5 11.5 12.5 4.5",
  close: "M4 4l8 8M12 4l-8 8",
  right: "M6 3.5 10.5 8 6 12.5",
  left: "M10 3.5 5.5 8 10 12.5",
  first: "M4 3.5v9M11.5 3.5 7 8 11.5 12.5",
  menu: "M2.5 4.5h11M2.5 8h11M2.5 11.5h11",
  sun: "M8 5.2a2.8 2.8 0 1 0 .01 0M8 1.5v1.5M8 13v1.5M1.5 8H3M13 8h1.5M3.4 3.4l1 1M11.6 11.6l1 1M12.6 3.4l-1 1M4.4 11.6l-1 1",
  moon: "M13 9.5A5.5 5.5 0 1 1 6.5 3a4.5 4.5 0 0 0 6.5 6.5z",
  auto: `${CIRCLE}M8 2.5v11`,
  help: "M6 6.2c0-2.6 4-2.6 4 0 0 1.6-2 1.7-2 3.3M8 12v.2",
  play: "M5 3.5v9l7-4.5z",
  pause: "M5.5 3.5v9M10.5 3.5v9",
  fork: "M5 3v10M5 8h3c2 0 3-1 3-3V3",
};

// One sign for each kind of state, so that none is told by its colour alone.
const RING = "M8 3a5 5 0 1 0 .01 0";
const SIGNS = {
  scheduled: `${RING}M8 5.5V8l1.8 1.2`,
  waiting: `${RING}M6.8 6.2v3.6M9.2 6.2v3.6`,
  pending: RING,
  claimed: `${RING}M8 7a1 1 0 1 0 .01 0`,
  running: `${RING}M7 6v4l3-2z`,
  retry: "M12.5 8a4.5 4.5 0 1 1-1.3-3.2L12.5 6M12.5 3v3h-3",
  archived: "M3 4h10v2.5H3zM4 6.5V13h8V6.5M6.5 9h3",
  completed: `${RING}M5.8 8.2l1.6 1.6 2.9-3.3`,
  failed: `${RING}M6.2 6.2l3.6 3.6M9.8 6.2 6.2 9.8`,
  cancelled: `${RING}M4.6 11.4l6.8-6.8`,
  expired: "M5 3h6M5 13h6M5.5 3c0 3 5 4 5 10M10.5 3c0 3-5 4-5 10",
};
/** States that look like others. */
const SIGN_OF = {
  aggregating: "scheduled", suspended: "waiting", acquired: "running", active: "running", halted: "archived", crashed: "archived", resolved: "completed", fulfilled: "completed",
  rejected: "failed", rejected_canceled: "cancelled", snoozed: "scheduled", rejected_timedout: "expired", timed_out: "expired",
};

const look = (state) => (SIGNS[SIGN_OF[state] ?? state] ? (SIGN_OF[state] ?? state) : "pending");
const NONE = html`<span class="muted">—</span>`;
const drawn = (path, size) => html`<svg width=${size} height=${size} viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width="1.5"
  stroke-linecap="round" stroke-linejoin="round" aria-hidden="true"><path d=${path} /></svg>`;
export const Icon = ({ name, size = 16 }) => drawn(PATHS[name] ?? PATHS.help, size);

export const IconButton = ({ icon, label, size, class: more = "", ...rest }) =>
  html`<button type="button" class=${`button quiet icon ${more}`} aria-label=${label} title=${label} ...${rest}><${Icon} name=${icon} size=${size} /></button>`;

/** A button: `look` is "primary", "danger", "small", "quiet", or several of them. */
export const Button = ({ look = "", icon, children, ...rest }) => html`<button type="button" class=${`button ${look}`} ...${rest}>${icon && html`<${Icon} name=${icon} />`}${children}</button>`;

/** A state: a sign in its colour, and its word. */
export function State({ of, label }) {
  if (!of) return NONE;
  return html`<span class=${`state s-${look(of)}`}>${drawn(SIGNS[look(of)], 16)}<span>${label ?? text.stateWord(of)}</span></span>`;
}
export const Sign = ({ of }) => html`<span class=${`state s-${look(of)}`}>${drawn(SIGNS[look(of)], 16)}</span>`;

/** An id in one line, with its end; the whole is in the title, and a button copies it. */
export function Id({ of, to, whole = false, copy = true }) {
  if (of == null || of === "") return NONE;
  const id = String(of);
  const [front, back] = text.parts(id);
  const inside = whole ? html`<span class="text">${id}</span>` : html`<span class="text"><span class="front">${front}</span>${back && html`<span class="back">${back}</span>`}</span>`;
  return html`<span class=${whole ? "id whole" : "id"} title=${whole ? undefined : id}>
    ${to ? html`<a class="id" href=${to} data-open>${inside}</a>` : inside}${copy && html`<${Copy} of=${id} label="Copy id" />`}</span>`;
}

/** A button that copies a text. */
export function Copy({ of, label = "Copy", always = false }) {
  const [done, set] = useState(false);
  const copy = async (event) => {
    event.preventDefault();
    event.stopPropagation();
    try {
      await navigator.clipboard.writeText(of);
      set(true);
      setTimeout(() => set(false), 1_500);
    } catch {
      toast("The browser does not allow copying here. Select the text instead.", true);
    }
  };
  return html`<button type="button" class=${always ? "copy always" : "copy"} onClick=${copy} title=${label} aria-label=${done ? "Copied" : `${label} ${of.length > 80 ? "" : of}`}>
    <${Icon} name=${done ? "check" : "copy"} size="13" /></button>`;
}

/** Where an id leads to. */
export function linkTo(id, kind) {
  if (kind === "job") return href("job", { id });
  if (kind === "schedule") return href("schedules", { id });
  if (kind === "queue") return href("queue", { name: id });
  if (kind === "worker") return href("workers");
  return href(["workflow", "task", "promise", "message"].includes(kind) ? "workflow" : "why", { id });
}

/** An instant: relative, the absolute one on hover and for screen readers. */
export function When({ at, plain = false, span }) {
  const { settings, tick } = useShared();
  void tick;
  if (at == null) return NONE;
  if (text.isNever(at)) return html`<span class="muted">never</span>`;
  const exact = text.absolute(at, settings.utc);
  const inside = plain ? exact : text.relative(at).replace(span ? "in " : "", "");
  return html`<time datetime=${stamp(at)} title=${plain ? undefined : exact}>${inside}</time>`;
}
export const when = (at) => html`<${When} at=${at} />`;

export function stamp(at) {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}

export function said(sentence = "") {
  const [before, word, at, rest] = sentence.split(/ (at|for|until|since) (\d{4}-[\d:T.-]+Z)(?: \([^)]*\))?(.*)/s);
  if (!at) return sentence;
  return html`${before} ${word === "until" ? "for " : word === "since" ? "since " : ""}<${When} at=${Date.parse(at)} span=${word === "until"} />${said(rest)}`;
}

/** A sentence about an id, which is a link there. */
export function linked(sentence, id, kind) {
  const [before, ...rest] = sentence.split(id);
  const link = html`<${Id} of=${id} to=${linkTo(id, kind)} copy=${false} />`;
  return rest.length ? html`${before}${link}${said(rest.join(id))}` : html`${link} ${said(sentence)}`;
}

export const Tags = ({ of }) =>
  html`<span class="row">${Object.entries(of ?? {}).map(([name, value]) => html`<span class="tag" key=${name}><b>${name}</b>${value}</span>`)}</span>`;

export function Value({ of, label }) {
  const value = of ?? { kind: "none" };
  if (value.kind === "none") return html`<span class="muted">empty</span>`;
  if (value.kind === "redacted") return html`<span class="pill">redacted by the server</span>`;
  if (value.kind === "binary") return html`<span class="muted">${text.number(value.bytes)} bytes that are not text</span>`;
  const shown = value.kind === "json" ? text.json(value.json) : (value.text ?? "");
  return html`<div><pre class="value" tabindex="0" role="group" aria-label=${label ?? "Value"}>${shown}</pre>
    ${value.truncated && html`<p class="small muted">Cut by the server. ${value.bytes ? `${text.number(value.bytes)} bytes in all.` : ""}</p>`}
    ${value.headers && Object.keys(value.headers).length > 0 && html`<${Tags} of=${value.headers} />`}</div>`;
}

let cards = 0;
/** A section with a heading. */
export function Card({ title, actions, flush = false, children, ...rest }) {
  const [name] = useState(() => `card-${++cards}`);
  return html`<section class=${`card ${rest.class ?? ""}`} aria-labelledby=${title ? name : undefined}>
    ${title && html`<header><h2 id=${name}>${title}</h2>${actions}</header>`}
    <div class=${flush ? "flush" : "body"}>${children}</div></section>`;
}

/** The heading of a view. */
export function Head({ title, lead, crumbs, children }) {
  return html`<div class="head"><div class="grow">${crumbs && html`<nav class="crumbs" aria-label="Breadcrumb">${crumbs}</nav>`}
    <h1 tabindex="-1">${title}</h1>${lead && html`<p class="lead">${lead}</p>`}</div>${children && html`<div class="row">${children}</div>`}</div>`;
}

/** Names with their values; those without a value are left out. */
export const Facts = ({ of }) => html`<dl class="facts">${of.filter(([, value]) => value || value === 0).map(([name, value]) => html`<dt key=${name}>${name}</dt><dd>${value}</dd>`)}</dl>`;

export const Empty = ({ title, children, icon = "search" }) => html`<div class="empty"><${Icon} name=${icon} size="28" /><strong>${title}</strong><p>${children}</p></div>`;

export const Loading = () => html`<div class="loading-room" role="status"><div class="loading"></div><span class="sr">Loading</span></div>`;

/** What failed, why, and the button that tries again. */
export function Failed({ error, retry, what = "This view" }) {
  return html`<div class="note bad" role="alert"><p><strong>${what} could not be read.</strong> ${error.message}${error.status ? html` <span class="muted">(${error.status})</span>` : ""}
    ${error.retryAfter ? ` Try again in ${error.retryAfter} s.` : ""}</p>${retry && html`<${Button} look="small" onClick=${retry}>Try again</${Button}>`}</div>`;
}

export function Read({ from, what, children, title }) {
  return html`${title && !from.data && html`<${Head} title=${title} />`}${from.error && html`<${Failed} error=${from.error} retry=${from.reload} what=${what} />`}
    ${from.data ? children(from.data) : from.loading && !from.error && html`<${Loading} />`}`;
}

/** Numbers of jobs by state as one bar. */
export function Bar({ counts, states = text.JOB_STATES, label }) {
  const sum = states.reduce((total, state) => total + (counts?.[state] ?? 0), 0);
  const said = states.filter((state) => counts?.[state]).map((state) => `${text.number(counts[state])} ${text.stateWord(state)}`).join(", ");
  return html`<div class="bar" role="img" aria-label=${`${label ? `${label}: ` : ""}${said || "no jobs"}`} title=${said}>
    ${sum > 0 && states.filter((state) => counts?.[state]).map((state) => html`<span key=${state} class=${`s-${state}`} style=${{ flexGrow: counts[state] }}></span>`)}</div>`;
}

/** A choice from `options`: `[value, label]`. */
export function Select({ value, options, choose, ...rest }) {
  return html`<select ...${rest} onChange=${(event) => choose(event.target.value, event.target)}>${options.map(([key, label]) => html`<option key=${key} value=${key} selected=${String(key) === String(value ?? "")}>${label ?? key}</option>`)}</select>`;
}

export const steps = (rows, at, what, rest = {}) => html`<ol class="steps" ...${rest}>${rows.map((row, index) => html`<li key=${index}><span class="at">${at(row)}</span><span class="grow">${what(row)}</span></li>`)}</ol>`;
