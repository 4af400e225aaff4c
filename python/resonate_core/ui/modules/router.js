// The address of a view with its filters: `#/jobs?state=retry&queue=mail`. A token is never part of it.
import { useEffect, useState } from "./vendor/htm-preact.js";
import { query } from "./api.js";

/** Members that may be given several times. */
const LISTS = new Set(["state", "tag", "arg"]);

/** The views of one record: `#/workflows/ID` is a short form of `#/workflow?id=ID`. */
const ONE = { workflows: "workflow", jobs: "job", queues: "queue" };

/** The route in the address bar: `{name, query}`. */
export function current() {
  const [path, text = ""] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const [name, id] = path.split(/\/(.*)/s);
  const found = id ? { [/^queues?$/.test(name) ? "name" : "id"]: decoded(id) } : {};
  for (const [name, value] of new URLSearchParams(text)) {
    if (LISTS.has(name)) (found[name] ??= []).push(value);
    else found[name] = value;
  }
  return { name: (id && ONE[name]) || name || "overview", query: found };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a lone percent sign
  }
}

/** The link to a view. A time travel goes on in the views that it links to. */
export function href(name, params = {}) {
  const { travel, n } = current().query;
  const kept = travel && !("travel" in params) && name !== "travel" ? { ...params, travel, n } : params;
  const text = query(kept);
  return `#/${name}${text ? `?${text}` : ""}`;
}

export const go = (name, params) => {
  location.hash = href(name, params);
};

/** Changes some filters of the present view. `replace`: without an entry in the history. */
export function refine(changes, replace = false) {
  const { name, query: present } = current();
  const next = href(name, { ...present, cursor: null, ...changes });
  if (replace) {
    history.replaceState(null, "", next);
    dispatchEvent(new HashChangeEvent("hashchange"));
  } else location.hash = next;
}

export function useRoute() {
  const [route, set] = useState(current);
  useEffect(() => {
    const hear = () => set(current());
    addEventListener("hashchange", hear);
    return () => removeEventListener("hashchange", hear);
  }, []);
  return route;
}
