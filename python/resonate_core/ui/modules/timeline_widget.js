// The timeline in a notebook: the model's traits on one side, timeline.js and diff.js on the other; and the clock that moves a fork.

import { render as renderDiff } from "./diff.js";
import { formatDuration, formatInstant } from "./timeline_time.js";
import { render as renderTimeline } from "./timeline.js";

// A notebook has its own light and dark, beside that of the system.
function themed(el) {
  const { jpThemeLight } = document.body.dataset;
  const isDark = jpThemeLight === "false" || document.body.classList.contains("vscode-dark");
  if (isDark) el.dataset.theme = "dark";
  else if (jpThemeLight === "true" || document.body.classList.contains("vscode-light")) el.dataset.theme = "light";
}

export function render({ model, el }) {
  const ended = new AbortController();
  themed(el);
  const clock = forkClock(model, ended.signal);
  el.append(clock.element);
  const view = renderTimeline(el, model.get("data"), {
    at: model.get("at"), range: model.get("range"), selected: model.get("selected"), mode: model.get("mode"), filter: model.get("filter"),
  });
  const place = document.createElement("div");
  el.append(place);
  let diff = null;
  const showDiff = () => {
    const data = model.get("diff");
    if (data && diff) diff.update(data);
    else if (data) diff = renderDiff(place, data);
  };
  showDiff();
  const save = (name, value) => {
    model.set(name, value);
    model.save_changes();
  };
  const listen = (name, act) => view.element.addEventListener(name, (event) => act(event.detail), { signal: ended.signal });
  listen("timeline-at", ({ at }) => save("at", at));
  listen("timeline-range", ({ range }) => save("range", range.map(Math.round)));
  listen("timeline-select", ({ id }) => save("selected", id));
  listen("timeline-mode", ({ mode }) => save("mode", mode));
  const acts = {
    "change:data": () => view.update(model.get("data")),
    "change:at": () => model.get("at") !== view.at && view.setAt(model.get("at")),
    "change:range": () => view.setRange(model.get("range")),
    "change:selected": () => model.get("selected") !== view.selected && view.select(model.get("selected")),
    "change:mode": () => model.get("mode") !== view.mode && view.setMode(model.get("mode")),
    "change:filter": () => view.setFilter(model.get("filter")),
    "change:diff": showDiff,
    "change:fork_at change:horizon change:next_due change:problem": clock.show,
  };
  for (const [names, act] of Object.entries(acts)) model.on(names, act);
  return () => {
    for (const [names, act] of Object.entries(acts)) model.off(names, act);
    ended.abort();
    view.destroy();
    diff?.destroy();
  };
}

// A slider over the horizon: the kernel moves the fork there, and sends back what it found.
function forkClock(model, signal) {
  const element = document.createElement("div");
  element.className = "rt-timeline rt-fork";
  const label = document.createElement("label");
  const slider = document.createElement("input");
  Object.assign(slider, { type: "range", min: "0", max: "1000", className: "rt-slider rt-fork-slider" });
  label.append("Clock of the fork ", slider);
  const output = document.createElement("output");
  output.className = "rt-clock";
  const next = document.createElement("button");
  Object.assign(next, { type: "button", className: "rt-button", textContent: "Next step" });
  const reset = document.createElement("button");
  Object.assign(reset, { type: "button", className: "rt-button", textContent: "Back to the store" });
  const problem = document.createElement("span");
  problem.className = "rt-problem";
  element.append(label, output, next, reset, problem);
  const move = (at) => {
    model.set("at", null);
    model.set("fork_at", at);
    model.save_changes();
  };
  const bounds = () => model.get("horizon") ?? [0, 1];
  slider.addEventListener("input", () => {
    const [start, end] = bounds();
    output.textContent = text(Math.round(start + (Number(slider.value) / 1000) * (end - start)));
  }, { signal });
  slider.addEventListener("change", () => {
    const [start, end] = bounds();
    move(Math.round(start + (Number(slider.value) / 1000) * (end - start)));
  }, { signal });
  next.addEventListener("click", () => model.get("next_due") !== null && move(model.get("next_due")), { signal });
  reset.addEventListener("click", () => move(bounds()[0]), { signal });
  const text = (at) => {
    const [start] = bounds();
    return `${formatInstant(at, at >= 631_152_000_000)} (+ ${formatDuration(at - start)})`;
  };
  const show = () => {
    const horizon = model.get("horizon");
    element.hidden = !horizon;
    if (!horizon) return;
    const at = model.get("fork_at") ?? horizon[0];
    slider.value = String(Math.round(((at - horizon[0]) / Math.max(horizon[1] - horizon[0], 1)) * 1000));
    slider.setAttribute("aria-valuetext", text(at));
    output.textContent = text(at);
    next.disabled = model.get("next_due") === null;
    problem.textContent = model.get("problem");
  };
  show();
  return { element, show };
}
