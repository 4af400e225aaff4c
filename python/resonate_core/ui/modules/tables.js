// Tables (cards on a phone), selection, pages by cursor, views that are one list.
import { html, useEffect, useState } from "./vendor/htm-preact.js";
import { Button, Empty, Head, Icon, Read, Select, When } from "./elements.js";
import * as text from "./format.js";
import { Filters } from "./forms.js";
import { current, href, refine } from "./router.js";
import { useView } from "./state.js";

/**
 * `columns`: `{label, num, cell, show(row), card, hidden}`; `keyOf(row)`; `selection`: `{has, toggle, all}`, or nothing.
 */
export function Table({ caption, columns, rows, keyOf, selection }) {
  return html`<div class="scroll" tabindex="0" role="group" aria-label=${caption}><table class="cards"><caption class="sr">${caption}</caption><thead><tr>
    ${selection && html`<th scope="col" class="check"><input type="checkbox" aria-label="Select all rows of this page" checked=${rows.length > 0 && rows.every((row) => selection.has(keyOf(row)))}
      onChange=${(event) => selection.all(rows.map(keyOf), event.target.checked)} /></th>`}
    ${columns.map((column) => html`<th key=${column.label} scope="col" class=${column.num ? "num" : ""}>${column.hidden ? html`<span class="sr">${column.label}</span>` : column.label}</th>`)}</tr></thead>
    <tbody>${rows.map((row) => {
      const key = keyOf(row);
      return html`<tr key=${key} data-row aria-selected=${selection ? String(selection.has(key)) : undefined}>
        ${selection && html`<td class="check"><input type="checkbox" data-check aria-label=${`Select ${key}`} checked=${selection.has(key)} onChange=${(event) => selection.toggle(key, event.target.checked)} /></td>`}
        ${columns.map((column) => html`<td key=${column.label} class=${`${column.num ? "num" : ""} ${column.cell ?? ""}`} data-label=${(column.card ?? column.cell !== "id-cell") ? column.label : undefined}>${column.show(row)}</td>`)}</tr>`;
    })}</tbody></table></div>`;
}

/** Which rows are selected; forgets those that are no longer on the page. */
function useSelection(keys) {
  const [chosen, set] = useState(new Set());
  const here = keys.join("\n");
  useEffect(() => {
    set((old) => new Set([...old].filter((key) => keys.includes(key))));
  }, [here]);
  return {
    chosen,
    has: (key) => chosen.has(key),
    toggle: (key, on) => set((old) => {
      const next = new Set(old);
      if (on) next.add(key);
      else next.delete(key);
      return next;
    }),
    all: (all, on) => set(on ? new Set(all) : new Set()),
    clear: () => set(new Set()),
  };
}

const SIZES = [["25"], ["50"], ["100"], ["200"]];

/** The foot of a list: the first and the next page, and how far a scan has got. */
function Pages({ of, noun, many }) {
  const { cursor, limit } = current().query;
  const scan = of.scan && of.scan.examined > of.items.length ? of.scan : null;
  const short = scan && !scan.complete && of.items.length < Number(limit ?? 50);
  return html`<div class="table-foot"><span class="grow" role="status">${text.count(of.items.length, noun, many)} on this page${scan ? html`; looked at ${text.number(scan.examined)}${scan.until != null ? html` back to <${When} at=${scan.until} />` : ""}${scan.complete ? ", that is all" : ""}` : ""}</span>
    <label class="row">Rows <${Select} value=${limit ?? "50"} options=${SIZES} choose=${(value) => refine({ limit: value })} /></label>
    ${cursor && html`<${Button} look="small" onClick=${() => refine({ cursor: null })}>First page</${Button}>`}
    ${of.next && html`<${Button} look="small" data-next onClick=${() => refine({ cursor: of.next })}>${short ? "Look further" : "Next page"} <${Icon} name="right" size="13" /></${Button}>`}</div>`;
}

/**
 * A view that is one list: heading, filters, rows, pages, and what to do where there are none.
 * `params`: names of the address that the server reads; `empty`: `[title, icon, text, text with filters]`.
 */
export function ListView({ view, params = [], query, title, lead, actions, above, fields, caption, columns, keyOf, selection, noun, many, empty, below }) {
  const read = useView(view, Object.fromEntries([...params, "limit", "cursor"].map((name) => [name, query[name]])));
  const filtered = params.some((name) => query[name]?.length);
  const [nothing, icon, what, other] = empty;
  const rows = useSelection((read.data?.items ?? []).map(keyOf));
  const chosen = selection?.(rows);
  return html`<${Head} title=${title} lead=${lead}>${actions}</${Head}>${above}${fields && html`<${Filters} query=${query} fields=${fields} />`}
    <div class="card"><${Read} from=${read} what=${`The list of ${many ?? `${noun}s`}`}>${(data) => html`${data.items.length
      ? html`<${Table} caption=${caption} columns=${columns} rows=${data.items} keyOf=${keyOf} selection=${chosen} />`
      : data.next ? html`<${Empty} title="Nothing in this part">No match yet. Look further: the rest has not been searched.</${Empty}>`
      : html`<${Empty} title=${filtered ? `No ${noun} matches` : nothing} icon=${icon}>${filtered ? (other ?? html`Remove a filter, or <a href=${href(view)}>show all</a>.`) : what}</${Empty}>`}
      ${(data.items.length > 0 || data.next || query.cursor) && html`<${Pages} of=${data} noun=${noun} many=${many} />`}`}</${Read}></div>${chosen && below?.(chosen)}`;
}
