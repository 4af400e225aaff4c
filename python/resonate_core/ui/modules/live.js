// Live updates: one stream, closed while the page is hidden or paused.
import { events } from "./api.js";

const FIRST_DELAY = 500;
const LONGEST_DELAY = 30_000;

/** Tells `hear(tick)` of changes and `show(state)` of the connection: "on", "off" (waits to connect again), "paused". */
export function follow(hear, show) {
  let stop = null;
  let timer = null;
  let delay = FIRST_DELAY;
  let paused = false;
  let ended = false;

  const wanted = () => !paused && !ended && !document.hidden;
  async function open() {
    timer = null;
    if (!wanted() || stop) return;
    const control = new AbortController();
    stop = control;
    let known = true;
    try {
      await events((tick) => {
        delay = FIRST_DELAY;
        show("on");
        if (tick) hear(tick);
        else hear({ changed: true }); // what was missed meanwhile
      }, control.signal);
    } catch (error) {
      known = error.name === "AbortError";
    }
    if (stop !== control) return;
    stop = null;
    if (!wanted()) return;
    if (!known) show("off");
    timer = setTimeout(open, delay + Math.random() * delay * 0.3);
    delay = Math.min(delay * 2, LONGEST_DELAY);
  }
  function close() {
    clearTimeout(timer);
    const control = stop;
    stop = null;
    control?.abort();
  }
  function judge() {
    if (wanted()) open();
    else {
      close();
      if (!ended) show("paused");
    }
  }
  document.addEventListener("visibilitychange", judge);
  judge();
  return {
    pause(flag) {
      paused = flag;
      judge();
    },
    end() {
      ended = true;
      document.removeEventListener("visibilitychange", judge);
      close();
    },
  };
}
