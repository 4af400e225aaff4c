// What differs between two states: `render(element, diff, options)` shows what `rc.diff(a, b).to_dict()` returns. No dependency.

import { html } from "./dom.js";
import { formatInstant } from "./timeline_time.js";

const SHOWN = 200; // changes shown at first; a button shows more
const DATES_FROM = 631_152_000_000;
const SIGNS = { added: ["+", "added"], removed: ["−", "removed"], changed: ["±", "changed"] };
const KINDS = ["promise", "task", "job", "schedule", "queue", "message"];

export function render(element, diff, options = {}) {
  return new Diff(element, diff, options);
}

// A value of a record in one line: instants as dates if they look like dates.
export function valueText(name, value) {
  if (value === null || value === undefined) return "—";
  const isInstant = /(At|Until)$|^(at|now|deadline|goodUntil)$/.test(name);
  if (isInstant && Number.isFinite(value)) return value > 8.64e15 ? "never" : formatInstant(value, value >= DATES_FROM);
  if (typeof value === "string") return value;
  const text = JSON.stringify(value);
  return text.length > 200 ? `${text.slice(0, 199)}…` : text;
}

class Diff {
  constructor(element, diff, options) {
    this.element = html("section", "rd-diff");
    this.filter = options.filter ?? "";
    this.most = SHOWN;
    this.open = new Set();
    this.head = html("p", "rd-head", null, { "aria-live": "polite" });
    this.search = html("input", "rd-search", null, { type: "search", placeholder: "Filter", "aria-label": "Filter by kind or id" });
    this.search.value = this.filter;
    this.search.addEventListener("input", () => {
      this.filter = this.search.value;
      this.draw();
    });
    this.list = html("ul", "rd-list");
    this.more = html("button", "rd-more", null, { type: "button" });
    this.more.addEventListener("click", () => {
      this.most += SHOWN;
      this.draw();
    });
    this.element.append(this.head, this.search, this.list, this.more);
    element.append(this.element);
    this.update(diff);
  }

  update(diff) {
    this.diff = diff;
    this.draw();
  }

  destroy() {
    this.element.remove();
  }

  draw() {
    const { a, b, counts, leftOut } = this.diff;
    const text = this.filter.toLowerCase();
    const items = this.diff.items.filter((item) => !text || `${item.kind} ${item.id}`.toLowerCase().includes(text));
    items.sort((one, other) => KINDS.indexOf(one.kind) - KINDS.indexOf(other.kind) || (one.id < other.id ? -1 : one.id > other.id ? 1 : 0));
    const total = counts.added + counts.removed + counts.changed;
    const instant = (state) => `${state.label} at ${formatInstant(state.now, state.now >= DATES_FROM)}`;
    const parts = ["added", "removed", "changed"].filter((name) => counts[name]).map((name) => `${counts[name].toLocaleString("en")} ${name}`);
    const left = leftOut ? `; ${leftOut.toLocaleString("en")} of them are left out` : "";
    this.head.textContent = `From ${instant(a)} to ${instant(b)}: ${total ? parts.join(", ") : "no difference"}${left}.`;
    this.search.hidden = total === 0;
    this.list.replaceChildren(...items.slice(0, this.most).map((item) => this.item(item)));
    const hidden = items.length - Math.min(items.length, this.most);
    this.more.hidden = hidden === 0;
    this.more.textContent = `Show ${Math.min(hidden, SHOWN)} of ${hidden.toLocaleString("en")} more`;
  }

  item(item) {
    const [sign, word] = SIGNS[item.change];
    const line = html("li", `rd-item rd-${item.change}`);
    const detail = html("details");
    const key = `${item.kind} ${item.id}`;
    detail.open = this.open.has(key);
    const summary = html("summary");
    summary.append(
      html("span", "rd-sign", sign, { "aria-label": word, role: "img" }), html("span", "rd-kind", item.kind), html("span", "rd-id", item.id),
    );
    const state = item.fields.find((field) => field.name === "state");
    if (state) summary.append(html("span", "rd-change", `${valueText("state", state.before)} → ${valueText("state", state.after)}`));
    else if (item.fields.length) summary.append(html("span", "rd-change", item.fields.map((field) => field.name).join(", ")));
    detail.append(summary);
    const fill = () => {
      if (detail.open && detail.children.length === 1) detail.append(this.table(item));
    };
    detail.addEventListener("toggle", () => {
      if (detail.open) this.open.add(key);
      else this.open.delete(key);
      fill();
    });
    summary.addEventListener("click", () => {
      this.element.dispatchEvent(new CustomEvent("diff-select", { bubbles: true, detail: { kind: item.kind, id: item.id } }));
    });
    fill();
    line.append(detail);
    return line;
  }

  table(item) {
    const table = html("table");
    const lines = item.change === "changed"
      ? item.fields.map((field) => [field.name, valueText(field.name, field.before), valueText(field.name, field.after)])
      : Object.entries(item.after ?? item.before).map(([name, value]) => [name, valueText(name, value)]);
    const names = item.change === "changed" ? ["Member", "Before", "After"] : ["Member", item.change === "added" ? "After" : "Before"];
    const head = html("tr");
    head.append(...names.map((name) => html("th", null, name, { scope: "col" })));
    table.append(head);
    for (const [name, ...values] of lines) {
      const line = html("tr");
      line.append(html("th", null, name, { scope: "row" }), ...values.map((value) => html("td", null, value)));
      table.append(line);
    }
    return table;
  }
}
