// What all views share: session, settings, live ticks, toasts, the open dialogue.
import { useEffect, useRef, useState } from "./vendor/htm-preact.js";
import { Failure, get } from "./api.js";
import { setClock } from "./format.js";
import { current } from "./router.js";

const SETTINGS = "resonate-ui-settings";

function stored() {
  try {
    return JSON.parse(localStorage.getItem(SETTINGS)) ?? {};
  } catch {
    return {}; // blocked or broken: the defaults
  }
}

let shared = {
  session: null,
  failure: null,
  live: "paused",
  tick: null,
  toasts: [],
  dialog: null,
  settings: { theme: "auto", utc: false, keys: true, follow: true, ...stored() },
};
const listeners = new Set();

export const snapshot = () => shared;
export function update(changes) {
  shared = { ...shared, ...changes };
  for (const listener of [...listeners]) listener(shared);
}

export function useShared() {
  const [value, set] = useState(shared);
  useEffect(() => {
    set(shared);
    listeners.add(set);
    return () => listeners.delete(set);
  }, []);
  return value;
}

/** Changes one setting and keeps it in this browser. */
export function setting(name, value) {
  update({ settings: { ...shared.settings, [name]: value } });
  try {
    localStorage.setItem(SETTINGS, JSON.stringify(shared.settings));
  } catch {
    // it lasts as long as the page
  }
}

let toastNumber = 0;
/** Says something for a few seconds; a failure stays until it is closed. */
export function toast(text, bad = false) {
  const key = ++toastNumber;
  update({ toasts: [...shared.toasts.slice(-3), { key, text, bad }] });
  if (!bad) setTimeout(() => dropToast(key), 6_000);
}
export const dropToast = (key) => update({ toasts: shared.toasts.filter((one) => one.key !== key) });

/** Loads who the user is and what the server can do. */
export async function loadSession() {
  try {
    const session = await get("session");
    setClock(session.now, session.clock === "manual");
    update({ session, failure: null });
  } catch (error) {
    update({ failure: error });
    if (error instanceof Failure && error.status === 401) update({ session: { role: "none", requiresToken: true, features: {} } });
  }
}

/** Whether the user may change the store, or forks of it; the past cannot be changed. */
export const operates = () => shared.session?.role === "operate" && !shared.session.readOnly;
export const mayOperate = () => operates() && !current().query.travel;

let changes = 0;
/** A tick of the live stream. */
export function heard(tick) {
  if (tick.now != null) setClock(tick.now, shared.session?.clock === "manual");
  changes += tick.changed ? 1 : 0;
  update({ tick: { ...tick, changes } });
}
/** After an action: every open view reads again. */
export const touched = () => heard({ changed: true });

const TRAVELS = new Set(["jobs", "jobs/count", "job", "workflows", "workflow", "promise", "queues", "queue", "schedules", "workers", "messages", "why", "stuck", "overview", "groups", "tasks"]);

/**
 * One view of the server: `{data, error, loading, reload}`. Reads again when the parameters change, or the store does; what was
 * read last stays on the screen meanwhile. `live: false` reads once.
 */
export function useView(view, params = {}, { live = true } = {}) {
  const { tick, session } = useShared();
  const { travel, n } = current().query;
  const asked = TRAVELS.has(view) && travel ? { ...params, travel, n } : params;
  const key = view && JSON.stringify([view, asked]);
  const [result, set] = useState({ key: null, data: null, error: null, loading: true });
  const loader = useRef(null);
  const changed = live && !travel ? (tick?.changes ?? 0) : 0;
  useEffect(() => {
    if (!view) return undefined;
    set({ key, data: null, error: null, loading: true });
    loader.current = loading(view, asked, () => session?.refresh ?? 1_000, (change) => set((old) => ({ ...(old.key === key ? old : { key, data: null }), ...change })));
    return loader.current.end;
  }, [key]);
  useEffect(() => {
    if (changed) loader.current?.again(false);
  }, [changed]);
  const shown = result.key === key ? result : { data: null, error: null, loading: true };
  return { ...shown, reload: () => loader.current?.again(true) };
}

/** Reads a view now and after each change: one request at a time, at most one in `pause()` ms. */
function loading(view, params, pause, set) {
  const control = new AbortController();
  let timer = null;
  let busy = false;
  let dirty = false;
  let last = 0;
  async function load() {
    timer = null;
    busy = true;
    dirty = false;
    last = performance.now();
    try {
      const data = await get(view, params, control.signal);
      if (!control.signal.aborted) set({ data, error: null, loading: false });
    } catch (error) {
      if (!control.signal.aborted) {
        set({ error, loading: false });
        if (error instanceof Failure && error.status === 401) loadSession();
      }
    }
    busy = false;
    if (dirty) again(false);
  }
  function again(atOnce) {
    if (control.signal.aborted) return;
    if (busy) dirty = true;
    else {
      clearTimeout(timer);
      // Hidden or paused meanwhile: the first tick after that reads again.
      timer = atOnce ? setTimeout(load, 0) : setTimeout(() => !document.hidden && shared.settings.follow && load(), Math.max(0, last + pause() - performance.now()));
    }
  }
  load();
  return {
    again,
    end() {
      clearTimeout(timer);
      control.abort();
    },
  };
}
