// Filters of a list, applied by Enter or by leaving a field.
import { html, useEffect, useState } from "./vendor/htm-preact.js";
import { Button, Select, Sign } from "./elements.js";
import { fromField, number, stateWord, toField } from "./format.js";
import { refine } from "./router.js";
import { useShared } from "./state.js";

/** `fields`: `{name, label, placeholder, type: "text"|"when"|"select", options, many, wide}`. */
export function Filters({ query, fields }) {
  const { settings } = useShared();
  const values = () => Object.fromEntries(fields.map((field) => [field.name, shown(field, query[field.name], settings.utc)]));
  const [typed, setTyped] = useState(values);
  useEffect(() => setTyped(values()), [JSON.stringify(query), settings.utc]);
  const apply = (changes = {}) => {
    const next = { ...typed, ...changes };
    const found = Object.fromEntries(fields.map((field) => [field.name, parsed(field, next[field.name], settings.utc)]));
    if (fields.some((field) => JSON.stringify(found[field.name] ?? null) !== JSON.stringify(query[field.name] ?? null))) refine(found);
  };
  const active = fields.some((field) => query[field.name]);
  return html`<form class="filters" role="search" aria-label="Filters" onSubmit=${(event) => {
    event.preventDefault();
    apply();
  }}>${fields.map((field) => html`<div key=${field.name} class=${`field ${field.wide ? "wide" : ""} ${field.type ?? ""}`}><label for=${`filter-${field.name}`}>${field.label}</label>
      ${field.type === "select"
        ? html`<${Select} id=${`filter-${field.name}`} value=${typed[field.name]} options=${field.options} choose=${(value) => apply({ [field.name]: value })} />`
        : html`<input id=${`filter-${field.name}`} type=${field.type === "when" ? "datetime-local" : "text"} step="1" placeholder=${field.placeholder} spellcheck=${false} autocomplete="off" value=${typed[field.name]}
            onInput=${(event) => setTyped((old) => ({ ...old, [field.name]: event.target.value }))} onChange=${() => apply()} />`}</div>`)}
    <${Button} type="submit">Filter</${Button}>
    ${active && html`<${Button} look="quiet" onClick=${() => refine(Object.fromEntries(fields.map((field) => [field.name, null])))}>Clear</${Button}>`}</form>`;
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
