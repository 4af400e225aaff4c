// Filters of a list, applied by Enter or by leaving a field.
import { html, useEffect, useState } from "./vendor/htm-preact.js";
import { Button, Select, Sign } from "./elements.js";
import { fromField, number, stateWord, toField } from "./format.js";
import { refine } from "./router.js";
import { useShared } from "./state.js";

/** `fields`: `{name, label, placeholder, type: "text"|"when"|"select", options, many, wide}`. */
export function Filters({ query, fields }) {
  const { settings } = useShared();
  const each = (value) => Object.fromEntries(fields.map((field) => [field.name, value(field)]));
  const stored = each((field) => shown(field, query[field.name], settings.utc));
  // Text not applied yet, with what it replaces: a new address drops it only in fields that it changes.
  const [edits, setEdits] = useState({});
  const edit = (of, { name }) => of[name]?.over === stored[name] && of[name];
  const typed = each((field) => edit(edits, field)?.text ?? stored[field.name]);
  useEffect(() => setEdits((old) => each((field) => edit(old, field))), [JSON.stringify(query), settings.utc]);
  const apply = (changes = {}) => {
    const next = { ...typed, ...changes };
    const found = each((field) => parsed(field, next[field.name], settings.utc));
    if (fields.some((field) => JSON.stringify(found[field.name] ?? null) !== JSON.stringify(query[field.name] ?? null))) refine(found);
  };
  const clear = () => {
    setEdits({});
    refine(each(() => null));
  };
  const active = fields.filter((field) => query[field.name]).length;
  const [open, setOpen] = useState(false);
  return html`<${Button} look="filters-button" aria-expanded=${String(open)} onClick=${() => setOpen(!open)}>Filters${active > 0 && ` (${active})`}</${Button}>
    <form class=${`filters${open ? "" : " closed"}`} role="search" aria-label="Filters" onSubmit=${(event) => {
    event.preventDefault();
    apply();
  }}>${fields.map(({ name, label, type, options, placeholder, wide }) => html`<div key=${name} class=${`field ${wide ? "wide" : ""} ${type ?? ""}`}><label for=${`filter-${name}`}>${label}</label>
      ${type === "select"
        ? html`<${Select} id=${`filter-${name}`} value=${typed[name]} options=${options} choose=${(value) => apply({ [name]: value })} />`
        : html`<input id=${`filter-${name}`} type=${type === "when" ? "datetime-local" : "text"} step="1" placeholder=${placeholder} spellcheck=${false} autocomplete="off" value=${typed[name]}
            onInput=${({ target }) => setEdits((old) => ({ ...old, [name]: { text: target.value, over: stored[name] } }))} onChange=${() => apply()} />`}</div>`)}
    <${Button} type="submit">Filter</${Button}>
    ${active > 0 && html`<${Button} look="quiet" onClick=${clear}>Clear</${Button}>`}</form>`;
}

function shown(field, value, utc) {
  if (value == null) return "";
  if (field.type === "when") return toField(Number(value), utc);
  return Array.isArray(value) ? value.join("; ") : value;
}
function parsed(field, typed, utc) {
  if (!typed) return undefined;
  if (field.type === "when") return fromField(typed, utc) == null ? undefined : String(fromField(typed, utc));
  return field.many ? typed.split(";").map((one) => one.trim()).filter(Boolean) : typed.trim() || undefined;
}

/** Buttons that choose states. */
export function StateChips({ states, query, counts }) {
  const chosen = query.state ?? [];
  const toggle = (state) => refine({ state: chosen.includes(state) ? chosen.filter((one) => one !== state) : [...chosen, state] });
  return html`<div class="chips" role="group" aria-label="States"><${Button} look="small" aria-pressed=${String(!chosen.length)} onClick=${() => refine({ state: null })}>All</${Button}>
    ${states.map((state) => html`<${Button} key=${state} look=${`small s-${state}`} aria-pressed=${String(chosen.includes(state))} onClick=${() => toggle(state)}><${Sign} of=${state} />${stateWord(state)}${counts?.[state] ? html` <span class="n">${number(counts[state])}</span>` : ""}</${Button}>`)}</div>`;
}
