// timeline.js and diff.js, which draw into an element by themselves, as components.
import { html, useEffect, useRef } from "./vendor/htm-preact.js";

/** `load`: gives the module; `on`: listeners of its events by name. */
export function Plain({ load, data, options = {}, on = {}, label, tell }) {
  const element = useRef();
  const view = useRef(null);
  const latest = useRef({});
  latest.current = { data, on };
  useEffect(() => {
    let ended = false;
    const room = element.current;
    const names = Object.keys(on);
    const hear = (event) => latest.current.on[event.type]?.(event.detail);
    for (const name of names) room.addEventListener(name, hear);
    load().then((module) => {
      if (ended) return;
      view.current = module.render(room, latest.current.data, options);
      tell?.(view.current);
    }, console.error);
    return () => {
      ended = true;
      for (const name of names) room.removeEventListener(name, hear);
      view.current?.destroy();
      view.current = null;
    };
  }, []);
  useEffect(() => view.current?.update(data), [data]);
  return html`<div ref=${element} role="group" aria-label=${label}></div>`;
}

export const timeline = () => import("./timeline.js");
export const diff = () => import("./diff.js");
