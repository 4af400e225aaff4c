"""Time travel: a recording is opened, played to an instant, compared with another, and exported as a pytest test."""

from __future__ import annotations

import re
from pathlib import Path

from browser import scene
from browser.pages import Opener, Shop


def test_a_recording_is_looked_at_as_of_then(shop: Shop, open_page: Opener, tmp_path: Path) -> None:
    ui = open_page(shop.base)
    page = ui.go("travel")
    page.locator('input[type="file"]').set_input_files(scene.record(tmp_path))
    slider = page.get_by_label("Step", exact=True)
    slider.wait_for()
    steps = int(slider.get_attribute("max"))
    assert steps >= 5
    page.get_by_role("button", name="Next step").click()
    page.locator("main", has_text="mail-0").wait_for()
    slider.focus()
    page.keyboard.press("End")
    page.wait_for_url(f"**n={steps}**")
    page.locator(".steps", has_text="archived").first.wait_for()
    assert ui.axe() == []

    page.get_by_label("From step", exact=True).fill("1")
    page.get_by_label("to step", exact=True).fill(str(steps))
    page.get_by_role("button", name="Compare").click()
    difference = page.get_by_role("group", name="Difference")
    difference.get_by_text("mail-2").first.wait_for()

    with page.expect_download() as started:
        page.get_by_role("button", name="Download as pytest").click()
    story = Path(started.value.path()).read_text()
    assert started.value.suggested_filename == "test_story.py"
    compile(story, "test_story.py", "exec")
    assert "def test_" in story and "mail-2" in story

    page.get_by_label("On a fork of this step").select_option(label="run a job")
    page.get_by_label("Id", exact=True).fill("mail-0")
    page.get_by_label("then let pass").select_option(label="a minute")
    page.get_by_role("button", name="Fork", exact=True).click()
    page.locator(".head select option").nth(1).wait_for(state="attached")
    page.get_by_label("with", exact=True).select_option(label="run.jsonl")
    page.get_by_role("button", name="Compare").click()
    difference.get_by_text("mail-0").first.wait_for()
    page.locator(".head select").select_option(label="run.jsonl")

    page.get_by_role("button", name="Next step").click()
    page.wait_for_url("**n=1**")
    page.get_by_role("link", name="Jobs then").click()
    page.get_by_text("You look at the past").wait_for()
    page.locator("tbody tr", has_text="mail-0").wait_for()
    assert page.locator("tbody tr").count() == 1
    assert page.get_by_role("button", name="Cancel", exact=True).count() == 0, "the past cannot be changed"
    page.locator("tbody a[data-open]").first.click()
    page.locator("main h1", has_text="mail-0").wait_for()
    assert re.search(r"travel=.*n=1", page.url), "the travel goes on in what is opened"
    ui.expected.append("404")  # the store of today has no such job
    page.get_by_role("link", name="Back to now").click()
    page.get_by_text("You look at the past").wait_for(state="detached")


def test_a_file_that_is_no_recording_is_refused(shop: Shop, open_page: Opener, tmp_path: Path) -> None:
    ui = open_page(shop.base)
    ui.expected.append("400")
    broken = tmp_path / "broken.jsonl"
    broken.write_text("{}\nnot json\n")
    page = ui.go("travel")
    page.locator('input[type="file"]').set_input_files(broken)
    page.locator(".toast.bad", has_text="broken.jsonl").wait_for()
