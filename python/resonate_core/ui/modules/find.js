// The search box: a combobox by the ARIA pattern.
import { html, useEffect, useState } from "./vendor/htm-preact.js";
import { get } from "./api.js";
import { Icon, linkTo, State } from "./elements.js";
import { go } from "./router.js";

export function Find() {
  const [typed, setTyped] = useState("");
  const [found, setFound] = useState(null);
  const [at, setAt] = useState(-1);
  const [open, setOpen] = useState(false);
  useEffect(() => {
    if (!typed.trim()) {
      setFound(null);
      return undefined;
    }
    const control = new AbortController();
    const timer = setTimeout(async () => {
      try {
        setFound((await get("find", { q: typed.trim() }, control.signal)).items);
        setAt(-1);
      } catch (error) {
        if (error.name !== "AbortError") setFound([]);
      }
    }, 160);
    return () => {
      clearTimeout(timer);
      control.abort();
    };
  }, [typed]);
  const choose = (item) => {
    setOpen(false);
    setTyped("");
    document.activeElement?.blur();
    if (item) location.hash = linkTo(item.id, item.kind);
    else go("why", { id: typed.trim() });
  };
  const key = (event) => {
    const many = found?.length ?? 0;
    if (event.key === "ArrowDown" && many) setAt((at + 1) % many);
    else if (event.key === "ArrowUp" && many) setAt((at + many - 1) % many);
    else if (event.key === "Enter" && typed.trim()) choose(found?.[at < 0 ? 0 : at]);
    else if (event.key === "Escape") {
      setOpen(false);
      setTyped("");
      return;
    } else return;
    event.preventDefault();
  };
  const shown = open && found && typed.trim();
  return html`<div class="find" role="search"><${Icon} name="search" />
    <input id="find" type="text" role="combobox" aria-label="Find an id, a queue or a schedule" aria-expanded=${String(Boolean(shown))} aria-controls="found" aria-autocomplete="list"
      aria-activedescendant=${shown && at >= 0 ? `found-${at}` : undefined} placeholder="Find an id, a queue, a schedule" spellcheck=${false} autocomplete="off" value=${typed}
      onInput=${(event) => {
        setTyped(event.target.value);
        setOpen(true);
      }} onFocus=${() => setOpen(true)} onBlur=${() => setTimeout(() => setOpen(false), 150)} onKeyDown=${key} /><kbd aria-hidden="true">/</kbd>
    <ul id="found" role="listbox" aria-label="Found" class="found" hidden=${!shown}>${shown && (found.length
      ? found.map((item, index) => html`<li key=${item.kind + item.id} id=${`found-${index}`} role="option" aria-selected=${String(index === at)} onMouseDown=${(event) => {
          event.preventDefault();
          choose(item);
        }}><span class="small muted kind">${item.kind}</span><code class="grow">${item.id}</code>${item.state && html`<${State} of=${item.state} />`}</li>`)
      : html`<li role="option" aria-selected="false" class="muted">Nothing has this id. Enter asks why.</li>`)}</ul></div>`;
}
