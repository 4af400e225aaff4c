// Each action opens one dialogue, which can try it on a fork first.
import { html, useEffect, useRef, useState } from "./vendor/htm-preact.js";
import { act } from "./api.js";
import { Button, IconButton, Id, linkTo, Select, State, steps, When } from "./elements.js";
import * as text from "./format.js";
import { mayOperate, snapshot, toast, touched, update, useShared } from "./state.js";

/** Opens the dialogue of an action: `{title, kind, data, text, verb, danger, fields, compose, done}`. */
export const ask = (action) => update({ dialog: { type: "action", ...action } });

const HORIZONS = [
  [60_000, "the next minute"],
  [3_600_000, "the next hour"],
  [86_400_000, "the next day"],
  [7 * 86_400_000, "the next week"],
];

/** A button that opens an action; nothing for those who may only read. */
export function Do({ label, icon, action, primary = false, danger = false, small = false }) {
  useShared();
  if (!mayOperate()) return null;
  const look = `${primary ? "primary" : ""} ${danger ? "danger" : ""} ${small ? "small" : ""}`;
  return html`<${Button} look=${look} icon=${icon} onClick=${() => ask({ title: label, verb: label, danger, ...action })}>${label}</${Button}>`;
}

/** A modal dialogue. When it closes, the focus returns to what opened it. */
export function Modal({ title, close, children, footer, submit }) {
  const element = useRef();
  useEffect(() => {
    const opener = document.activeElement;
    const dialog = element.current;
    dialog.showModal();
    dialog.querySelector("[autofocus], .body input, .body textarea, .body select, footer button")?.focus();
    return () => {
      if (dialog.open) dialog.close();
      if (opener?.isConnected) opener.focus();
    };
  }, []);
  const inside = html`<header><h2 id="dialog-title">${title}</h2>
      <${IconButton} icon="close" label="Close" onClick=${close} /></header>
    <div class="body">${children}</div>${footer && html`<footer>${footer}</footer>`}`;
  const cancel = (event) => {
    event.preventDefault();
    close();
  };
  return html`<dialog ref=${element} aria-labelledby="dialog-title" onCancel=${cancel}>
    ${submit
      ? html`<form onSubmit=${(event) => {
          event.preventDefault();
          submit();
        }}>${inside}</form>`
      : html`<div class="inside">${inside}</div>`}</dialog>`;
}

const NO_FIELDS = [];

/** The dialogue of an action. */
export function ActionDialog({ action, close }) {
  const fields = action.fields ?? NO_FIELDS;
  const [values, setValues] = useState(() => Object.fromEntries(fields.map((field) => [field.name, field.value ?? ""])));
  const [wrong, setWrong] = useState({});
  const [horizon, setHorizon] = useState(HORIZONS[1][0]);
  const [busy, setBusy] = useState(null);
  const [error, setError] = useState(null);
  const [preview, setPreview] = useState(null);

  function compose() {
    const { data, problems } = collect(fields, values);
    setWrong(problems);
    if (Object.keys(problems).length) return null;
    return action.compose ? action.compose(data) : { kind: action.kind, data: { ...action.data, ...data } };
  }
  async function send(first, horizonMs = horizon) {
    const request = compose();
    if (!request) return;
    setBusy(first ? "preview" : "do");
    setError(null);
    try {
      if (first) setPreview({ ...(await act(request.kind, request.data, { preview: true, horizonMs })), request: JSON.stringify(request) });
      else {
        const reply = await act(request.kind, request.data, { preview: false });
        const refused = (reply.results ?? []).filter((one) => one.status >= 300);
        if (refused.length) toast(`${action.title}: ${refused.length} of ${reply.results.length} refused. ${refused[0].id}: ${refused[0].error ?? refused[0].status}`, true);
        else toast(typeof action.done === "function" ? action.done(reply) : (action.done ?? `${action.title}: done.`));
        touched();
        if (snapshot().dialog !== action) return; // closed meanwhile: the page stays where it is
        close();
        action.after?.(reply);
        return;
      }
    } catch (problem) {
      setError(problem);
      if (first) setPreview(null);
    }
    setBusy(null);
  }
  const footer = html`<${Button} look="quiet" onClick=${close}>Cancel</${Button}>
    ${action.preview !== false && html`<${Button} icon="fork" disabled=${busy} onClick=${() => send(true)}>${busy === "preview" ? "Trying…" : "Try it first"}</${Button}>`}
    <button type="submit" class=${`button primary ${action.danger ? "danger" : ""}`} disabled=${busy}>${busy === "do" ? "Working…" : (action.verb ?? action.title)}</button>`;
  return html`<${Modal} title=${action.title} close=${close} footer=${footer} submit=${() => send(false)}>
    ${action.text && html`<p>${action.text}</p>`}
    ${fields.length > 0 && html`<div class="fields">${fields.map((field) => html`<${Field} key=${field.name} of=${field} value=${values[field.name]} wrong=${wrong[field.name]}
      set=${(value) => setValues((old) => ({ ...old, [field.name]: value }))} />`)}</div>`}
    ${error && html`<div class="note bad" role="alert"><p><strong>Refused.</strong> ${error.message}</p></div>`}
    ${preview && html`<section aria-label="What would follow"><div class="row"><h3 class="grow">On a fork of the store</h3>
      <label class="row small">and in <${Select} value=${horizon} options=${HORIZONS} choose=${(value) => {
        setHorizon(Number(value));
        send(true, Number(value));
      }} /></label></div><${Preview} of=${preview} /></section>`}
    <p class="sr" role="status">${busy === "preview" ? "Trying on a fork" : preview ? "The preview is shown" : ""}</p>
  </${Modal}>`;
}

/** What the fields of a form hold: `{data, problems}`, both by name. Empty fields are left out. */
export function collect(fields, values) {
  const data = {};
  const problems = {};
  for (const { name, label, parse, required } of fields) {
    try {
      const typed = values[name];
      const value = parse ? parse(typed) : typed?.trim?.() || undefined;
      if (required && value === undefined) throw new Error(`${label} must not be empty`);
      if (value !== undefined) data[name] = value;
    } catch (error) {
      problems[name] = error.message;
    }
  }
  return { data, problems };
}

/** One field of a form. `type`: text, number, select, textarea, checkbox. */
export function Field({ of, value, set, wrong }) {
  const name = `field-${of.name}`;
  const common = { id: name, name: of.name, "aria-describedby": wrong ? `${name}-wrong` : of.hint ? `${name}-hint` : undefined, "aria-invalid": wrong ? "true" : undefined, required: of.required };
  const hear = (event) => set(event.target.value);
  let control;
  if (of.type === "select") control = html`<${Select} ...${common} value=${value} options=${of.options} choose=${set} />`;
  else if (of.type === "textarea") control = html`<textarea ...${common} rows=${of.rows ?? 6} spellcheck=${false} value=${value} onInput=${hear}></textarea>`;
  else control = html`<input ...${common} type=${of.type ?? "text"} min=${of.min} max=${of.max} step=${of.step} value=${value} placeholder=${of.placeholder} list=${of.list} autocomplete="off" onInput=${hear} />`;
  return html`<div class="field" style=${of.type === "textarea" || of.wide ? { gridColumn: "1 / -1" } : undefined}><label for=${name}>${of.label}</label>${control}
    ${of.hint && html`<span class="hint" id=${`${name}-hint`}>${of.hint}</span>`}${wrong && html`<span class="wrong" id=${`${name}-wrong`}>${wrong}</span>`}</div>`;
}

function Preview({ of }) {
  const { changes = [], later = [], laterChanges = [], messages = {} } = of;
  const added = messages.added ?? [];
  const removed = messages.removed ?? [];
  const own = later.filter((step) => step.only !== "both");
  return html`<div class="stack">
    ${of.status >= 300 && html`<div class="note warn"><p><strong>It would be refused (${of.status}).</strong> ${of.error}</p></div>`}
    <div><h4 class="small muted">At once</h4>${changes.length ? html`<${Changes} of=${changes} />` : html`<p>Nothing changes.</p>`}</div>
    <div><h4 class="small muted">Then, until <${When} at=${of.until} plain /></h4>
      ${own.length ? steps(own, (step) => text.relative(step.at, of.now), (step) => html`${step.text ?? `${step.kind} ${step.id}`}${step.only === "without" && html` <span class="pill warn">would no longer happen</span>`}`) : html`<p>No step of the engine follows from it.</p>`}
      ${later.length > own.length && html`<p class="small muted">${text.count(later.length - own.length, "other step")} would happen anyway.</p>`}
      ${laterChanges.length > 0 && html`<details><summary>${text.count(laterChanges.length, "change")} until then</summary><${Changes} of=${laterChanges} /></details>`}</div>
    ${(added.length > 0 || removed.length > 0) && html`<div><h4 class="small muted">Messages</h4>${steps([...added, ...removed], (one) => (added.includes(one) ? "sent" : "withdrawn"), (one) => html`${one.kind} of <code>${one.id}</code> to ${one.address}`)}</div>`}
    <p class="small muted">Nothing was done. ${of.scope?.text ?? ""}${of.scope && !of.scope.complete ? " Not all that could follow was looked at." : ""}</p>
  </div>`;
}

/** Changes of records: states before and after, other fields on request. */
export const Changes = ({ of }) => steps(of, (one) => one.change, (one) => html`<${Change} of=${one} />`);

function Change({ of }) {
  const fields = of.fields ?? [];
  const state = fields.find((field) => field.name === "state") ?? { before: of.before?.state, after: of.after?.state };
  const others = fields.filter((field) => field.name !== "state");
  return html`<span class="grow"><span class="row">${of.kind} <${Id} of=${of.id} to=${linkTo(of.id, of.kind)} copy=${false} />${state.before != null && html`<${State} of=${state.before} />`}${state.before != null && state.after != null && "→"}${state.after != null && html`<${State} of=${state.after} />`}</span>
    ${others.length > 0 && html`<details class="small"><summary>${text.count(others.length, "field")}</summary><dl class="facts">${others.map((field) => html`<dt key=${field.name}>${field.name}</dt><dd><code>${shown(field.before)}</code> → <code>${shown(field.after)}</code></dd>`)}</dl></details>`}</span>`;
}
const shown = (value) => (value === null || value === undefined ? "none" : typeof value === "object" ? JSON.stringify(value) : String(value));

/** Parses JSON typed by a person. */
export function parseJson(typed) {
  if (typed.trim() === "") return undefined;
  try {
    return JSON.parse(typed);
  } catch (error) {
    throw new Error(`Payload must be JSON: ${error.message}`);
  }
}
export function parseNumber(label, low = 0) {
  return (typed) => {
    if (typed === "" || typed == null) return undefined;
    const value = Number(typed);
    if (!Number.isInteger(value) || value < low) throw new Error(`${label} must be a whole number of at least ${low}, got ${typed}`);
    return value;
  };
}
/** `k=v` in lines or separated by commas. */
export function parseTags(typed) {
  const tags = {};
  for (const part of typed.split(/[\n,]/).map((one) => one.trim()).filter(Boolean)) {
    const at = part.indexOf("=");
    if (at < 1) throw new Error(`Tags must be name=value, got ${part}`);
    tags[part.slice(0, at)] = part.slice(at + 1);
  }
  return Object.keys(tags).length ? tags : undefined;
}
