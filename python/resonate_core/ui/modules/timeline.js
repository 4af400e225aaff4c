// The timeline of promises, tasks, jobs and workers: `render(element, data, options)`. Plain SVG, no dependency.

import { html } from "./dom.js";
import { colourOf, formatDuration, formatInstant, inColour, ticks } from "./timeline_time.js";
import { changesOf, rowItems, stateAt, stripesOf, workerItems } from "./timeline_rows.js";
import { FOLD, MARKS, Painter, ROW, STATES, describe, make, rect } from "./timeline_svg.js";
import { detailOf, tableOf } from "./timeline_text.js";

export { changesOf, colourOf, formatDuration, formatInstant, stateAt };

const AXIS = 40;
const EDGE = 10; // px at both sides of the plot
const MODES = [["rows", "Rows"], ["workers", "Workers"], ["table", "Table"]];
let numbers = 0;

export function render(element, data, options = {}) {
  return new Timeline(element, data, options);
}

// An id that is too long is cut in its middle: ids often differ at their ends.
function nameOf(id) {
  const tail = id.length > 14 ? 7 : 0;
  return [html("span", "rt-name", id.slice(0, id.length - tail)), ...(tail ? [html("span", "rt-tail", id.slice(-tail))] : [])];
}

class Timeline {
  constructor(element, data, options) {
    this.host = element;
    this.name = `rt-${(numbers += 1)}`;
    this.mode = options.table ? "table" : options.mode ?? "rows";
    this.filter = options.filter ?? "";
    this.at = options.at ?? null;
    this.range = options.range ?? null;
    this.selected = options.selected ?? null;
    this.open = new Set();
    this.active = 0;
    this.abort = new AbortController();
    this.build();
    this.take(data);
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.plot);
    this.draw();
  }

  // --- what a page calls

  update(data) {
    this.take(data);
    this.draw();
  }

  setAt(at) {
    this.at = at === null ? null : Math.min(Math.max(at, this.data.start), this.data.end);
    this.draw();
  }

  setRange(range) {
    this.range = range === null ? null : this.bounded(range[0], range[1]);
    this.draw();
  }

  select(id) {
    this.selected = id;
    const place = this.items.findIndex((item) => item.kind === "row" && item.row.id === id);
    if (place >= 0) {
      this.active = place;
      this.reveal(place);
    }
    this.draw();
  }

  setMode(mode) {
    this.mode = mode;
    this.active = 0;
    this.list();
    this.draw();
  }

  setFilter(text) {
    this.filter = text;
    if (this.search.value !== text) this.search.value = text;
    this.active = 0;
    this.list();
    this.draw();
  }

  destroy() {
    this.abort.abort();
    this.observer.disconnect();
    this.element.remove();
  }

  // --- parts

  build() {
    this.element = html("section", "rt-timeline");
    this.heading = html("div", "rt-title");
    this.bar = html("div", "rt-bar", null, { role: "toolbar", "aria-label": "Timeline" });
    this.buttons = new Map();
    const modes = html("div", "rt-group", null, { role: "group", "aria-label": "Shown as" });
    for (const [mode, text] of MODES) modes.append(this.button(mode, text, `Show ${text.toLowerCase()}`, () => this.change(mode)));
    const zoom = html("div", "rt-group", null, { role: "group", "aria-label": "Zoom" });
    zoom.append(
      this.button("out", "−", "Zoom out", () => this.zoom(2)),
      this.button("in", "+", "Zoom in", () => this.zoom(0.5)),
      this.button("all", "All", "Show the whole time", () => this.move(null)),
    );
    const steps = html("div", "rt-group", null, { role: "group", "aria-label": "Instant" });
    this.slider = html("input", "rt-slider", null, { type: "range", min: 0, max: 1000, "aria-label": "Instant" });
    steps.append(
      this.button("back", "‹", "Previous change", () => this.step(-1)),
      this.slider,
      this.button("on", "›", "Next change", () => this.step(1)),
    );
    this.clock = html("output", "rt-clock");
    this.search = html("input", "rt-search", null, { type: "search", placeholder: "Filter", "aria-label": "Filter by id, type or worker" });
    this.search.value = this.filter;
    this.bar.append(modes, zoom, steps, this.clock, this.search);
    this.axis = make("svg", { class: "rt-axis", "aria-hidden": "true" });
    this.view = html("div", "rt-view", null, {
      role: "listbox", tabindex: 0, "aria-label": "Rows of the timeline", "aria-describedby": `${this.name}-keys`,
    });
    this.labels = html("div", "rt-labels", null, { "aria-hidden": "true" });
    this.plot = make("svg", { class: "rt-plot", role: "group", "aria-labelledby": `${this.name}-title ${this.name}-desc` });
    this.plotTitle = make("title", { id: `${this.name}-title` });
    this.plotText = make("desc", { id: `${this.name}-desc` });
    this.canvas = make("g");
    this.plot.append(this.plotTitle, this.plotText, this.canvas);
    this.view.append(this.labels, this.plot);
    this.table = html("div", "rt-table");
    this.tip = html("div", "rt-tip", null, { role: "tooltip" });
    this.tip.hidden = true;
    this.notes = html("p", "rt-notes");
    this.legend = html("div", "rt-legend");
    this.detail = html("section", "rt-detail", null, { "aria-live": "polite", "aria-label": "Selected row" });
    const keys = html("p", "rt-keys", "Up and Down: rows. Left and Right: previous and next change. Enter: select, open a fold. "
      + "+ and −: zoom, 0: all. W: rows or workers. T: table.", { id: `${this.name}-keys` });
    this.element.append(this.heading, this.bar, this.axis, this.view, this.table, this.tip, this.notes, this.legend, this.detail, keys);
    this.host.append(this.element);
    this.listen();
  }

  button(name, text, label, act) {
    const button = html("button", "rt-button", text, { type: "button", "aria-label": label, title: label });
    button.addEventListener("click", act, { signal: this.abort.signal });
    this.buttons.set(name, button);
    return button;
  }

  listen() {
    const on = (target, event, act, options = {}) => target.addEventListener(event, act, { ...options, signal: this.abort.signal });
    on(this.slider, "input", () => {
      const share = Number(this.slider.value) / 1000;
      this.scrub(Math.round(this.data.start + share * (this.data.end - this.data.start)));
    });
    on(this.search, "input", () => this.setFilter(this.search.value));
    on(this.view, "keydown", (event) => this.key(event));
    on(this.view, "scroll", () => this.draw());
    on(this.view, "wheel", (event) => this.wheel(event), { passive: false });
    on(this.plot, "pointerdown", (event) => this.press(event, false));
    on(this.axis, "pointerdown", (event) => this.press(event, true));
    on(this.plot, "pointermove", (event) => this.hover(event));
    on(this.plot, "pointerleave", () => (this.tip.hidden = true));
    on(this.plot, "dblclick", (event) => this.zoom(0.4, this.instantOf(event)));
    on(this.labels, "click", (event) => this.choose(this.placeOf(event)));
  }

  take(data) {
    this.data = data;
    this.stripes = stripesOf(data);
    this.changes = changesOf(data);
    if (this.range) this.range = this.bounded(...this.range);
    if (this.at !== null) this.at = Math.min(Math.max(this.at, data.start), data.end);
    this.heading.textContent = data.title ?? "";
    this.heading.hidden = !data.title;
    this.list();
  }

  list() {
    let leftOut = 0;
    if (this.mode === "workers") ({ items: this.items, leftOut } = workerItems(this.data, this.filter));
    else this.items = rowItems(this.data, this.filter, this.open);
    this.tops = [];
    let top = 0;
    for (const item of this.items) {
      this.tops.push(top);
      top += item.kind === "fold" ? FOLD : ROW;
    }
    this.height = Math.max(top, ROW);
    this.active = Math.min(this.active, Math.max(this.items.length - 1, 0));
    const notes = [...this.data.notes];
    if (leftOut) notes.push(`${leftOut.toLocaleString("en")} leases and attempts at the same time as others are not shown`);
    const folded = this.items.filter((item) => item.kind === "fold" && !item.open).length;
    if (folded && this.mode === "rows") notes.push(`${folded} folded rows: select one to open it`);
    this.notes.textContent = notes.join(". ") + (notes.length ? "." : "");
    this.notes.hidden = !notes.length;
  }

  // --- geometry

  bounded(from, to) {
    const whole = Math.max(this.data.end - this.data.start, 1);
    const width = Math.min(Math.max(to - from, Math.min(whole, 5)), whole);
    const left = Math.min(Math.max(from, this.data.start), this.data.start + whole - width);
    return [left, left + width];
  }

  scale() {
    const [from, to] = this.range ?? [this.data.start, Math.max(this.data.end, this.data.start + 1)];
    const width = Math.max(this.plot.clientWidth, 60);
    const size = width - 2 * EDGE;
    return { from, to, width, size, x: (at) => EDGE + ((at - from) / (to - from)) * size };
  }

  instantOf(event) {
    const scale = this.scale();
    const share = (event.clientX - this.plot.getBoundingClientRect().left - EDGE) / scale.size;
    return Math.round(scale.from + Math.min(Math.max(share, 0), 1) * (scale.to - scale.from));
  }

  placeOf(event) {
    const y = event.clientY - this.plot.getBoundingClientRect().top;
    return this.tops.findLastIndex((top) => top <= y);
  }

  reveal(place) {
    const top = this.tops[place];
    if (top < this.view.scrollTop) this.view.scrollTop = top;
    else if (top + FOLD > this.view.scrollTop + this.view.clientHeight) this.view.scrollTop = top + FOLD - this.view.clientHeight;
  }

  // --- drawing

  draw() {
    const isTable = this.mode === "table";
    for (const [mode] of MODES) this.buttons.get(mode).setAttribute("aria-pressed", String(this.mode === mode));
    this.axis.toggleAttribute("hidden", isTable);
    this.view.hidden = isTable;
    this.table.hidden = !isTable;
    const { start, end, dates } = this.data;
    const at = this.at ?? end;
    this.slider.value = String(end > start ? Math.round(((at - start) / (end - start)) * 1000) : 1000);
    this.slider.setAttribute("aria-valuetext", formatInstant(at, dates));
    this.clock.textContent = formatInstant(at, dates);
    this.detail.replaceChildren(...detailOf(this.data, this.selected, at));
    if (isTable) {
      this.table.replaceChildren(tableOf(this.data, this.filter, at));
      return;
    }
    const scale = this.scale();
    this.plot.setAttribute("height", String(this.height));
    this.drawAxis(scale);
    const items = this.drawRows(scale);
    this.drawLabels(items, at);
    this.drawLegend();
    const what = `${this.data.rows.length.toLocaleString("en")} rows from ${formatInstant(start, dates)} to ${formatInstant(end, dates)}`;
    this.plotTitle.textContent = this.data.title ?? "Timeline";
    this.plotText.textContent = `${what}. ${this.data.notes.join(". ")}`;
  }

  drawAxis(scale) {
    const left = this.plot.getBoundingClientRect().left - this.axis.getBoundingClientRect().left;
    const group = make("g", { transform: `translate(${left} 0)` });
    let taken = 0;
    for (const tick of ticks(scale.from, scale.to, this.data.dates, Math.max(scale.width / 90, 2))) {
      const x = scale.x(tick.at);
      group.append(make("line", { x1: x, x2: x, y1: AXIS - 6, y2: AXIS, class: "rt-tick-line" }));
      const anchor = x > scale.width - 36 ? "end" : x < 30 ? "start" : "middle";
      if (x < taken) continue; // no room beside the day
      taken = anchor === "start" ? x + tick.text.length * 6.5 + 20 : 0;
      const classes = tick.major ? "rt-tick-text rt-major" : "rt-tick-text";
      group.append(make("text", { x, y: AXIS - 11, "text-anchor": anchor, class: classes }, tick.text));
    }
    let free = -Infinity;
    for (const event of this.data.events) {
      if ((event.end ?? event.at) < scale.from || event.at > scale.to) continue;
      const x = Math.max(scale.x(event.at), EDGE);
      if (x < free || x + 6 * event.text.length > scale.width) continue;
      free = x + 6 * event.text.length + 8;
      group.append(make("text", { x, y: 9, class: `rt-event-text rt-event-text-${event.kind}` }, event.text));
    }
    const { at } = this;
    if (at !== null && at >= scale.from && at <= scale.to) {
      group.append(make("path", { d: `M${scale.x(at)} ${AXIS} l-5 -7 h10 Z`, class: "rt-cursor-head" }));
    }
    this.axis.replaceChildren(group);
  }

  drawRows(scale) {
    const from = this.view.scrollTop - 2 * ROW;
    const to = this.view.scrollTop + (this.view.clientHeight || 600) + 2 * ROW;
    const painter = new Painter(scale, this.data, this.stripes);
    const group = make("g");
    for (const tick of ticks(scale.from, scale.to, this.data.dates, Math.max(scale.width / 90, 2))) {
      const x = scale.x(tick.at);
      group.append(make("line", { x1: x, x2: x, y1: 0, y2: this.height, class: tick.major ? "rt-grid rt-major" : "rt-grid" }));
    }
    const drawn = [];
    this.items.forEach((item, place) => {
      const top = this.tops[place];
      const height = item.kind === "fold" ? FOLD : ROW;
      if (top + height < from || top > to) return;
      drawn.push([item, place]);
      const label = describe(item, this.at ?? this.data.end, this.data, stateAt, formatInstant);
      const isSelected = item.kind === "row" && item.row.id === this.selected;
      const row = make("g", {
        transform: `translate(0 ${top})`, class: `rt-row${place === this.active ? " rt-active" : ""}${isSelected ? " rt-selected" : ""}`,
        id: `${this.name}-row-${place}`, role: "option", "aria-label": label, "aria-selected": String(isSelected),
        "aria-posinset": place + 1, "aria-setsize": this.items.length,
      });
      row.append(rect(0, 0, scale.width, height, "rt-row-back"));
      painter[item.kind](row, item.kind === "row" ? item.row : item.kind === "fold" ? item.fold : item);
      group.append(row);
    });
    this.drawWakes(group, scale, drawn);
    this.drawEvents(group, scale);
    if (this.at !== null && this.at >= scale.from && this.at <= scale.to) {
      group.append(make("line", { x1: scale.x(this.at), x2: scale.x(this.at), y1: 0, y2: this.height, class: "rt-cursor" }));
    }
    if (!this.items.length) group.append(make("text", { x: scale.width / 2, y: 18, class: "rt-nothing" }, "nothing to show"));
    this.canvas.replaceChildren(group);
    if (this.items.length) this.view.setAttribute("aria-activedescendant", `${this.name}-row-${this.active}`);
    else this.view.removeAttribute("aria-activedescendant");
    return drawn;
  }

  drawEvents(group, scale) {
    for (const event of this.data.events) {
      const end = event.end ?? event.at;
      if (end < scale.from || event.at > scale.to) continue;
      const left = scale.x(Math.max(event.at, scale.from));
      const width = Math.max(scale.x(Math.min(end, scale.to)) - left, 1.5);
      const mark = make("g", { class: `rt-event rt-event-${event.kind}` });
      mark.append(make("rect", { x: left, y: 0, width, height: this.height }), make("title", {}, event.text));
      group.append(mark);
    }
  }

  drawWakes(group, scale, drawn) {
    const places = new Map(drawn.filter(([item]) => item.kind === "row").map(([item, place]) => [item.row.id, place]));
    for (const [at, from, to] of this.data.wakes) {
      if (at < scale.from || at > scale.to || !places.has(from) || !places.has(to)) continue;
      const [above, below] = [this.tops[places.get(from)] + ROW / 2, this.tops[places.get(to)] + ROW / 2];
      const head = below > above ? -1 : 1;
      const x = scale.x(at).toFixed(1);
      group.append(make("path", { d: `M${x} ${above} V${below} m-3 ${6 * head} l3 ${-6 * head} l3 ${6 * head}`, class: "rt-wake" }));
    }
  }

  drawLabels(drawn, at) {
    const labels = drawn.map(([item, place]) => {
      const label = html("div", `rt-label${place === this.active ? " rt-active" : ""} rt-label-${item.kind}`);
      label.style.setProperty("top", `${this.tops[place]}px`);
      if (item.kind === "row") {
        label.style.setProperty("padding-left", `${6 + 12 * item.depth}px`);
        const state = stateAt(item.row, at)?.state ?? "none";
        label.append(html("span", `rt-dot rt-dot-${state}`), ...nameOf(item.row.name ?? item.row.id));
        label.title = `${item.row.name ?? ""} ${item.row.id} (${state})`;
      } else if (item.kind === "fold") {
        const count = `${item.fold.members.toLocaleString("en")} ${item.open && item.shown < item.fold.members ? `(${item.shown} shown)` : ""}`;
        label.append(html("span", "rt-twisty", item.open ? "▾" : "▸"), html("span", "rt-name", item.fold.label), html("span", "rt-count", count));
        label.title = `${item.fold.label}: ${count} rows`;
      } else {
        label.append(inColour(html("span", "rt-swatch rt-worker"), item.worker));
        label.append(html("span", "rt-name", item.number ? "" : item.worker));
        label.title = item.worker;
      }
      return label;
    });
    this.labels.replaceChildren(...labels);
    this.labels.style.setProperty("height", `${this.height}px`);
  }

  drawLegend() {
    const states = new Set();
    const lines = new Set();
    const marks = new Set();
    for (const row of this.data.rows) {
      for (const [, state] of row.changes) if (state !== "pending" && state !== "active") states.add(state);
      for (const span of row.spans) {
        if (span.outcome) marks.add(span.outcome);
        if (!span.worker && STATES[span.state]) lines.add(span.state);
      }
      for (const [, kind] of row.marks) if (MARKS[kind]) marks.add(kind);
    }
    const entry = (shape, text) => {
      const one = html("span", "rt-entry");
      const icon = make("svg", { width: 22, height: 14, "aria-hidden": "true" });
      icon.append(shape);
      one.append(icon, html("span", null, text));
      return one;
    };
    const entries = [];
    for (const state of states) entries.push(entry(rect(8, 1, 4, 12, `rt-state-${state}`), state));
    for (const state of lines) {
      entries.push(entry(make("line", { x1: 0, x2: 22, y1: 7, y2: 7, class: `rt-line rt-line-${state}` }), STATES[state]));
    }
    for (const kind of marks) {
      entries.push(entry(make("path", { d: MARKS[kind][0], transform: "translate(11 7)", class: `rt-mark rt-mark-${kind}` }), MARKS[kind][1]));
    }
    this.legend.replaceChildren(...entries);
  }

  // --- what a user does

  emit(name, detail) {
    this.element.dispatchEvent(new CustomEvent(name, { bubbles: true, detail }));
  }

  change(mode) {
    this.setMode(mode);
    this.emit("timeline-mode", { mode });
  }

  scrub(at) {
    this.setAt(at);
    this.emit("timeline-at", { at: this.at });
  }

  step(by) {
    const at = this.at ?? this.data.end;
    const found = by > 0 ? this.changes.find((change) => change > at) : this.changes.findLast((change) => change < at);
    if (found === undefined) return;
    this.scrub(found);
    if (this.range && (found < this.range[0] || found > this.range[1])) {
      const half = (this.range[1] - this.range[0]) / 2;
      this.move([found - half, found + half]);
    }
  }

  move(range) {
    this.setRange(range);
    this.emit("timeline-range", { range: this.range ?? [this.data.start, this.data.end] });
  }

  zoom(factor, around = null) {
    const [from, to] = this.range ?? [this.data.start, Math.max(this.data.end, this.data.start + 1)];
    const middle = around ?? (this.at !== null && this.at >= from && this.at <= to ? this.at : (from + to) / 2);
    const range = [middle - (middle - from) * factor, middle + (to - middle) * factor];
    this.move(range[1] - range[0] >= this.data.end - this.data.start ? null : range);
  }

  choose(place) {
    const item = this.items[place];
    if (!item) return;
    this.active = place;
    if (item.kind === "fold") {
      if (!this.open.delete(item.number)) this.open.add(item.number);
      this.list();
      this.draw();
      return;
    }
    const row = item.kind === "row" ? item.row : null;
    this.selected = row?.id ?? null;
    this.draw();
    if (row) this.emit("timeline-select", { id: row.id, kind: row.kind, row });
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const to = (place) => {
      this.active = Math.min(Math.max(place, 0), this.items.length - 1);
      if (this.items.length) this.reveal(this.active);
      this.draw();
    };
    const acts = {
      ArrowUp: () => to(this.active - 1), ArrowDown: () => to(this.active + 1), Home: () => to(0), End: () => to(this.items.length - 1),
      PageUp: () => to(this.active - 10), PageDown: () => to(this.active + 10),
      ArrowLeft: () => this.step(-1), ArrowRight: () => this.step(1), Enter: () => this.choose(this.active), " ": () => this.choose(this.active),
      "+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2), "0": () => this.move(null),
      w: () => this.change(this.mode === "workers" ? "rows" : "workers"),
      t: () => {
        this.change("table");
        this.buttons.get("table").focus();
      },
      Escape: () => {
        this.selected = null;
        this.draw();
        this.emit("timeline-select", { id: null, kind: null, row: null });
      },
    };
    const act = acts[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  wheel(event) {
    const isSideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (!event.ctrlKey && !(isSideways && this.range)) return;
    event.preventDefault();
    if (event.ctrlKey) {
      this.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.instantOf(event));
      return;
    }
    const by = ((event.deltaX || event.deltaY) / this.scale().size) * (this.range[1] - this.range[0]);
    this.move([this.range[0] + by, this.range[1] + by]);
  }

  press(event, isAxis) {
    if (event.button !== 0) return;
    const [begun, range] = [event.clientX, this.range];
    const size = this.scale().size;
    let isDrag = false;
    const drag = new AbortController();
    const move = (moved) => {
      isDrag ||= Math.abs(moved.clientX - begun) > 4;
      if (isAxis) this.scrub(this.instantOf(moved));
      else if (isDrag && range) {
        const by = ((begun - moved.clientX) / size) * (range[1] - range[0]);
        this.move([range[0] + by, range[1] + by]);
      }
    };
    const end = (ended) => {
      drag.abort();
      if (isDrag || isAxis || ended.type === "pointercancel") return;
      this.at = this.instantOf(ended);
      this.choose(this.placeOf(ended));
      this.scrub(this.at);
    };
    if (isAxis) this.scrub(this.instantOf(event));
    for (const [name, act] of [["pointermove", move], ["pointerup", end], ["pointercancel", end]]) {
      window.addEventListener(name, act, { signal: drag.signal });
    }
    this.abort.signal.addEventListener("abort", () => drag.abort(), { once: true, signal: drag.signal });
  }

  hover(event) {
    const item = this.items[this.placeOf(event)];
    if (!item) {
      this.tip.hidden = true;
      return;
    }
    const at = this.instantOf(event);
    const lines = [describe(item, at, this.data, stateAt, formatInstant)];
    const span = item.kind === "lane" ? item.spans.find((one) => one.span.start <= at && (one.span.end ?? this.data.end) >= at) : null;
    if (span) lines.push(`${span.row.id}: ${formatDuration((span.span.end ?? this.data.end) - span.span.start)}`);
    const near = (this.scale().to - this.scale().from) / this.scale().size * 6;
    if (item.kind === "row") {
      for (const [instant, kind, text] of item.row.marks) {
        if (Math.abs(instant - at) <= near && MARKS[kind]) lines.push(`${MARKS[kind][1]} ${text} at ${formatInstant(instant, this.data.dates)}`);
      }
      for (const one of item.row.spans) {
        if (one.outcome && one.end !== null && Math.abs(one.end - at) <= near) {
          lines.push(`attempt ${one.attempt ?? ""} ${one.outcome}${one.code ? `: ${one.code}` : ""} at ${formatInstant(one.end, this.data.dates)}`);
        }
      }
    }
    for (const story of this.data.events) if (story.at - near <= at && (story.end ?? story.at) + near >= at) lines.push(`${story.kind}: ${story.text}`);
    lines.push(formatInstant(at, this.data.dates));
    this.tip.replaceChildren(...[...new Set(lines)].slice(0, 8).map((line) => html("div", null, line)));
    this.tip.hidden = false;
    const box = this.element.getBoundingClientRect();
    const left = Math.min(event.clientX - box.left + 12, Math.max(box.width - this.tip.offsetWidth - 8, 0));
    this.tip.style.setProperty("left", `${left}px`);
    this.tip.style.setProperty("top", `${event.clientY - box.top + 16}px`);
  }
}
