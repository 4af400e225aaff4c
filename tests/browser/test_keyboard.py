"""The dashboard without a mouse: shortcuts, focus, the tree and dialogues; and the settings that a browser stores."""

from __future__ import annotations

from browser import scene
from browser.pages import Opener, Shop

FOCUSED = "document.activeElement"


def test_one_can_go_everywhere_by_keyboard(shop: Shop, open_page: Opener) -> None:
    ui = open_page(shop.base)
    page = ui.go()
    page.keyboard.press("Tab")
    assert page.evaluate(f"{FOCUSED}.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    assert page.evaluate(f"{FOCUSED}.id") == "main"
    for key, title in [
        ("q", "Queues"),
        ("w", "Workflows"),
        ("s", "Schedules"),
        ("k", "Workers"),
        ("m", "Messages"),
        ("t", "Time travel"),
        ("a", "Audit"),
        ("o", "Overview"),
        ("j", "Jobs"),
    ]:
        page.keyboard.press("g")
        page.keyboard.press(key)
        page.locator("main h1", has_text=title).wait_for()
        page.locator("main h1:focus").wait_for()  # a screen reader reads the new view
        assert page.title().startswith(title)


def test_rows_are_walked_selected_and_opened(shop: Shop, open_page: Opener) -> None:
    ui = open_page(shop.base)
    page = ui.go("jobs?queue=imports")
    rows = page.locator("tbody tr")
    rows.first.wait_for()
    page.keyboard.press("j")
    page.keyboard.press("j")
    second = rows.nth(1).locator("a[data-open]")
    assert second.evaluate(f"(link) => link === {FOCUSED}")
    assert second.evaluate("(link) => getComputedStyle(link).outlineStyle") == "solid", "the focus is visible"
    page.keyboard.press("x")
    page.get_by_text("1 job selected").wait_for()
    page.keyboard.press("k")
    assert rows.nth(0).locator("a[data-open]").evaluate(f"(link) => link === {FOCUSED}")
    page.keyboard.press("Enter")
    page.locator("main h1", has_text=scene.LONG).wait_for()


def test_search_offers_ids_and_opens_one(shop: Shop, open_page: Opener) -> None:
    ui = open_page(shop.base)
    page = ui.go()
    page.keyboard.press("/")
    assert page.evaluate(f"{FOCUSED}.id") == "find"
    page.keyboard.type("order-1042")
    page.get_by_role("option").filter(has_text=scene.STUCK).first.wait_for()
    page.keyboard.press("ArrowDown")
    assert page.get_attribute("#find", "aria-activedescendant") == "found-0"
    assert ui.axe("aria-valid-attr-value", "aria-required-children", "aria-required-parent", "color-contrast") == []
    page.keyboard.press("Enter")
    page.locator("main h1", has_text=scene.STUCK).wait_for()
    page.keyboard.press("/")
    page.keyboard.type("g j")  # text, not a shortcut
    assert page.input_value("#find") == "g j"
    assert "workflow" in page.url


def test_a_new_view_leaves_the_focus_to_the_search(shop: Shop, open_page: Opener) -> None:
    """The heading of a new view took the focus during typing, and the next letters acted as shortcuts."""
    page = open_page(shop.base).go()
    page.evaluate(
        """() => {
            location.hash = "#/queues";
            addEventListener("hashchange", () => document.getElementById("find").focus(), { once: true });
        }"""
    )
    page.locator("main h1", has_text="Queues").wait_for()
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(() => requestAnimationFrame(done), 100)))")
    assert page.evaluate(f"{FOCUSED}.id") == "find"


def test_help_lists_the_shortcuts_and_turns_them_off(shop: Shop, open_page: Opener) -> None:
    ui = open_page(shop.base)
    page = ui.go()
    button = page.get_by_role("button", name="Keyboard shortcuts")
    button.focus()
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keyboard")
    dialog.get_by_text("Go to workflows").wait_for()
    assert ui.axe() == []
    dialog.get_by_role("checkbox").uncheck()
    page.keyboard.press("Escape")
    dialog.wait_for(state="detached")
    assert button.evaluate(f"(element) => element === {FOCUSED}"), "the focus returns"
    page.keyboard.press("g")
    page.keyboard.press("q")
    page.reload()
    ui.ready()
    page.keyboard.press("g")
    page.keyboard.press("q")
    assert "queues" not in page.url


def test_the_call_tree_is_a_tree(shop: Shop, open_page: Opener) -> None:
    ui = open_page(shop.base)
    page = ui.go(f"workflow?id={scene.STUCK}")
    page.locator('[role="treeitem"]').first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.locator(
        f'[role="treeitem"][aria-label^="card:charge"]:focus, [role="treeitem"]:focus >> text={scene.CARD}'
    ).first.wait_for()
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="card:charge").wait_for()
    assert f"call={scene.CARD}" in page.url
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    collapsed = page.locator('[role="treeitem"][aria-expanded="false"]')
    collapsed.first.wait_for()
    assert page.locator('[role="treeitem"]').count() == 3


def test_settings_are_kept(shop: Shop, open_page: Opener) -> None:
    ui = open_page(shop.base)
    page = ui.go("jobs?limit=25")
    instant = page.locator("tbody time").first
    assert instant.get_attribute("title").endswith("+01:00")
    background = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(background)
    page.keyboard.press("z")
    page.locator('tbody time[title$="UTC"]').first.wait_for()
    page.keyboard.press("d")
    page.keyboard.press("d")
    page.locator('html[data-theme="dark"]').wait_for()
    assert page.evaluate(background) != light
    page.reload()
    ui.ready()
    assert page.get_attribute("html", "data-theme") == "dark"
    assert page.locator("tbody time").first.get_attribute("title").endswith("UTC")


def test_long_ids_keep_their_end_and_can_be_copied(shop: Shop, open_page: Opener) -> None:
    ui = open_page(shop.base, permissions=("clipboard-read", "clipboard-write"))
    page = ui.go("jobs?queue=imports")
    row = page.locator("tbody tr", has_text=scene.LONG[-10:]).first
    back = row.locator(".back").bounding_box()
    cell = row.locator("td.id-cell").bounding_box()
    assert back["x"] + back["width"] <= cell["x"] + cell["width"], "the end of the id is not cut"
    row.hover()
    row.get_by_role("button", name="Copy id").click()
    row.get_by_role("button", name="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == scene.LONG
