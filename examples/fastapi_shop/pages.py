"""The pages, as HTML."""

from __future__ import annotations

from html import escape

__all__ = ["order_page", "shop_page"]

_FRAME = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>{title}</title>
<style>body {{ font: 16px/1.5 sans-serif; max-width: 40em; margin: 3em auto }}</style>
<h1>{title}</h1>
{body}
</html>
"""

_FORM = """<form id="order">
<label>Item <input name="item" value="tea" required></label>
<label>Email <input name="email" type="email" value="ada@example.org" required></label>
<button>Order</button> <span id="problem"></span>
</form>
<script>
document.getElementById("order").addEventListener("submit", async event => {
  event.preventDefault();
  const body = JSON.stringify(Object.fromEntries(new FormData(event.target)));
  const answer = await fetch("/orders", {method: "POST", headers: {"content-type": "application/json"}, body});
  const placed = await answer.json();
  if (answer.ok) location = placed.page; else document.getElementById("problem").textContent = JSON.stringify(placed.detail);
});
</script>"""

# The browser opens the stream again when it ends, until the event arrives.
_ORDER = """<p>Item: {item}. Status: <b id="status">{status}</b></p>
<p id="result">The result appears here, also after the server has been restarted.</p>
<script>
const events = new EventSource("/orders/{id}/events");
events.addEventListener("status", e => document.getElementById("status").textContent = JSON.parse(e.data));
events.addEventListener("done", e => {{ document.getElementById("result").textContent = e.data; events.close(); }});
</script>"""


def shop_page() -> str:
    """The form of an order."""
    return _FRAME.format(title="A durable shop", body=_FORM)


def order_page(id: str, item: str, status: str) -> str:
    """The page of an order, which waits for its result."""
    return _FRAME.format(title=f"Order {escape(id)}", body=_ORDER.format(id=escape(id), item=escape(item), status=escape(status)))
