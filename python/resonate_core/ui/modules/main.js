// The page: session, frame, the view of the route.
import { html, render } from "./vendor/htm-preact.js";
import { App } from "./app.js";

render(html`<${App} />`, document.getElementById("app"));
