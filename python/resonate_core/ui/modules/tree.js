// A call tree, by the ARIA pattern: arrows move, open and close; Enter chooses.
import { html, useMemo, useRef, useState } from "./vendor/htm-preact.js";
import { Icon, Id, said, State } from "./elements.js";
import { brief, duration } from "./format.js";

const BIG = 200;

/** `root`: a Call (`{id, func, state, note, tookMs, children}`); `choose(id)`. */
export function Tree({ root, selected, choose, label = "Calls" }) {
  const [closed, setClosed] = useState(() => new Set(folded(root)));
  const element = useRef();
  const rows = useMemo(() => visible(root, closed), [root, closed]);
  const [focus, setFocus] = useState(root.id);
  const here = rows.some((row) => row.call.id === focus) ? focus : root.id;
  const turn = (id, close) => setClosed((old) => {
    const next = new Set(old);
    if (close) next.add(id);
    else next.delete(id);
    return next;
  });
  const to = (id) => {
    setFocus(id);
    requestAnimationFrame(() => element.current?.querySelector('[tabindex="0"][role="treeitem"]')?.focus());
  };
  const key = (event) => {
    if (event.target.closest("button, a") && event.key === "Enter") return;
    const at = rows.findIndex((row) => row.call.id === here);
    const { call, parent } = rows[at];
    const open = call.children?.length && !closed.has(call.id);
    const moves = {
      ArrowDown: () => rows[at + 1] && to(rows[at + 1].call.id),
      ArrowUp: () => rows[at - 1] && to(rows[at - 1].call.id),
      Home: () => to(rows[0].call.id),
      End: () => to(rows.at(-1).call.id),
      ArrowRight: () => (open ? to(call.children[0].id) : call.children?.length && turn(call.id, false)),
      ArrowLeft: () => (open ? turn(call.id, true) : parent && to(parent.id)),
      Enter: () => choose?.(call.id),
      " ": () => choose?.(call.id),
    };
    if (!moves[event.key]) return;
    event.preventDefault();
    event.stopPropagation();
    moves[event.key]();
  };
  return html`<div class="tree" role="tree" aria-label=${label} ref=${element} onKeyDown=${key}>
    <${Node} call=${root} level=${1} closed=${closed} turn=${turn} here=${here} setFocus=${setFocus} selected=${selected} choose=${choose} /></div>`;
}

function Node({ call, level, closed, turn, here, setFocus, selected, choose }) {
  const children = call.children ?? [];
  const open = children.length > 0 && !closed.has(call.id);
  const rest = { level: level + 1, closed, turn, here, setFocus, selected, choose };
  return html`<div role="treeitem" aria-level=${level} aria-expanded=${children.length ? String(open) : undefined} aria-selected=${String(selected === call.id)} tabindex=${here === call.id ? 0 : -1}
      aria-label=${`${call.func ?? call.id}, ${call.state}${call.note ? `, ${call.note}` : ""}`} onFocus=${(event) => {
        event.stopPropagation();
        if (event.target === event.currentTarget) setFocus(call.id);
      }}>
    <div class=${call.kind === "own" ? "node muted" : "node"} onClick=${() => {
      setFocus(call.id);
      choose?.(call.id);
    }}>${children.length ? html`<span class="fold" onClick=${(event) => {
      event.stopPropagation();
      turn(call.id, open);
    }}><${Icon} name="right" size="13" /></span>` : html`<span class="fold"></span>`}
      <${State} of=${call.job?.state ?? call.state} />${call.func && html`<${call.kind === "own" ? "span" : "b"} class="nowrap">${call.func}<//>`}<${Id} of=${call.id} copy=${false} />
      <span class="muted grow note-text">${call.kind && call.state === "resolved" && html`<code>${brief(call.promise?.value)}</code> `}${said(call.note)}</span>${call.tookMs != null && html`<span class="span num">${duration(call.tookMs)}</span>`}</div>
    ${open && html`<div role="group">${children.map((child) => html`<${Node} key=${child.id} call=${child} ...${rest} />`)}</div>`}</div>`;
}

function visible(call, closed, parent = null, found = []) {
  found.push({ call, parent });
  if (!closed.has(call.id)) for (const child of call.children ?? []) visible(child, closed, call, found);
  return found;
}

/** In a big tree, calls that ended well are closed at first. */
function folded(root) {
  const all = visible(root, new Set());
  if (all.length <= BIG) return [];
  return all.filter(({ call, parent }) => parent && call.children?.length && call.state === "resolved").map(({ call }) => call.id);
}
