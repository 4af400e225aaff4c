// Tables: a caption for screen readers, cards on a phone, pages by cursor, selection, j and k from row to row.
import { html, useEffect, useState } from "./vendor/htm-preact.js";
import { Empty, Icon, Select, When } from "./elements.js";
import * as text from "./format.js";
import { current, refine } from "./router.js";

/**
 * `columns`: `{key, label, num, cell, show(row), id}`; `keyOf(row)`; `selection`: `{has, toggle, all}`, or nothing.
 */
export function Table({ caption, columns, rows, keyOf, selection, sticky = true }) {
  return html`<div class="scroll" tabindex="0" role="group" aria-label=${caption}><table class=${sticky ? "cards" : ""}><caption class="sr">${caption}</caption><thead><tr>
    ${selection && html`<th scope="col" class="check"><input type="checkbox" aria-label="Select all rows of this page" checked=${rows.length > 0 && rows.every((row) => selection.has(keyOf(row)))}
      onChange=${(event) => selection.all(rows.map(keyOf), event.target.checked)} /></th>`}
    ${columns.map((column) => html`<th key=${column.key} scope="col" class=${column.num ? "num" : ""}>${column.hidden ? html`<span class="sr">${column.label}</span>` : column.label}</th>`)}</tr></thead>
    <tbody>${rows.map((row) => {
      const key = keyOf(row);
      return html`<tr key=${key} data-row aria-selected=${selection ? String(selection.has(key)) : undefined}>
        ${selection && html`<td class="check"><input type="checkbox" data-check aria-label=${`Select ${key}`} checked=${selection.has(key)} onChange=${(event) => selection.toggle(key, event.target.checked)} /></td>`}
        ${columns.map((column) => html`<td key=${column.key} class=${`${column.num ? "num" : ""} ${column.cell ?? ""}`} data-label=${column.card === false ? undefined : column.label}>${column.show(row)}</td>`)}</tr>`;
    })}</tbody></table></div>`;
}

/** Which rows are selected; forgets those that are no longer on the page. */
export function useSelection(keys) {
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

/** The foot of a list that is read by cursor: the first page and the next one, and how far a scan has got. */
export function Pages({ of, noun, many }) {
  const { cursor, limit } = current().query;
  const scan = of.scan;
  return html`<div class="table-foot"><span class="grow" role="status">${text.count(of.items.length, noun, many)} on this page${scan ? html`; looked at ${text.number(scan.examined)}${scan.until != null ? html` back to <${When} at=${scan.until} />` : ""}${scan.complete ? ", that is all" : ""}` : ""}</span>
    <label class="row">Rows <${Select} value=${limit ?? "50"} options=${SIZES} choose=${(value) => refine({ limit: value })} /></label>
    ${cursor && html`<button type="button" class="button small" onClick=${() => refine({ cursor: null })}>First page</button>`}
    ${of.next && html`<button type="button" class="button small" data-next onClick=${() => refine({ cursor: of.next })}>${scan && !scan.complete ? "Look further" : "Next page"} <${Icon} name="right" size="13" /></button>`}</div>`;
}

/** A list of a view: rows and pages, or what to do where there are none. */
export function List({ of, caption, columns, keyOf, selection, noun, many, empty }) {
  const looked = of.scan && !of.scan.complete;
  return html`${of.items.length
    ? html`<${Table} caption=${caption} columns=${columns} rows=${of.items} keyOf=${keyOf} selection=${selection} />`
    : looked ? html`<${Empty} title="Nothing in this part">No match yet. Look further: the rest has not been searched.</${Empty}>` : empty}
    ${(of.items.length > 0 || of.next || current().query.cursor) && html`<${Pages} of=${of} noun=${noun} many=${many} />`}`;
}
