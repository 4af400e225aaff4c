"""The shop of the examples: its own tests, and an order that is placed, approved and shipped while processes are killed."""

from __future__ import annotations

import http.cookiejar
import json
import re
import signal
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest

from free_ports import free_port

from .conftest import Place


def test_its_own_tests(shop: Place) -> None:
    done = shop.run("test", "--noinput")
    assert re.search(r"Ran [1-9]\d* tests", done.stderr)


def test_its_migrations_are_complete(shop: Place) -> None:
    shop.run("makemigrations", "--check", "--dry-run")


class Customer:
    """A browser: it stores cookies, and sends the token of the last form."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.jar = http.cookiejar.CookieJar()
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(self.jar))

    def get(self, path: str) -> str:
        return str(self.opener.open(self.url + path, timeout=60).read().decode())

    def post(self, path: str, **form: str) -> tuple[str, str]:
        """Posts a form; returns the address and the text of the next page."""
        token = next(cookie.value for cookie in self.jar if cookie.name == "csrftoken")
        body = urllib.parse.urlencode({**form, "csrfmiddlewaretoken": token or ""}).encode()
        answer = self.opener.open(self.url + path, data=body, timeout=60)
        return answer.geturl().removeprefix(self.url), answer.read().decode()

    def until(self, path: str, text: str, shop: Place) -> str:
        """Loads a page again until it contains a text."""
        for _ in range(600):
            page = self.get(path)
            if text in page:
                return page
            time.sleep(0.1)
        logs = "\n".join(f"== {log.name}\n{log.read_text()}" for log in shop.scratch.glob("*.log"))
        raise AssertionError(f"{path} never had {text!r}\n{page}\n{logs}")


@pytest.fixture
def customer(shop: Place) -> Customer:
    shop.run("migrate", "--verbosity", "0")
    port = free_port()
    shop.start(
        sys.executable, "-m", "gunicorn", "shop.wsgi", "--preload", "--workers", "2", "--bind", f"127.0.0.1:{port}", log="web.log"
    )
    found = Customer(f"http://127.0.0.1:{port}")
    for _ in range(600):
        try:
            found.get("/")
        except urllib.error.URLError:
            time.sleep(0.1)
        else:
            return found
    raise AssertionError(shop.said("web.log"))


def kill(process: Popen[str]) -> None:
    process.kill()
    process.wait()


def test_an_order_is_shipped_although_the_worker_is_killed(shop: Place, customer: Customer) -> None:
    worker = shop.manage("resonate_worker", "--lease", "2", "--poll-interval", "0.1", log="worker.log")
    path, page = customer.post("/orders/", email="ann@example.org", item="tea")
    assert "tea for ann@example.org" in page
    customer.until(path, "Receipt: Successful", shop)
    customer.until(path, 'value="ship"', shop)
    kill(worker)
    _, page = customer.post(f"{path}decide/", decision="ship")
    worker = shop.manage("resonate_worker", "--lease", "2", "--poll-interval", "0.1", log="worker.log")
    answer: dict[str, Any] = {"state": "open"}
    for _ in range(6):  # each request waits until the workflow has ended, or for 20 s
        if answer["state"] == "open":
            answer = json.loads(customer.get(f"{path}wait/"))
    number = int(Path(path).name)
    assert answer == {"state": "resolved", "result": f"shipped: parcel {number:06}"}
    mails = shop.shell("from shop.models import Mail\nprint([mail.text[:9] for mail in Mail.objects.order_by('pk')])")
    assert mails == "['Thank you', 'Your tea ']\n"  # each was sent once
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(60) == 0, shop.said("worker.log")
    assert shop.run("resonate_health").stdout.startswith("default: ok; ")


def test_an_order_that_is_refused_leaves_nothing(shop: Place, customer: Customer) -> None:
    with pytest.raises(urllib.error.HTTPError) as refused:
        customer.post("/orders/", email="ann@example.org", item="nothing")
    assert refused.value.code == 400
    refused.value.close()
    found = shop.shell(
        "from shop.models import Order\nfrom resonate_core.contrib.django import task_backends\n"
        "store = task_backends['default'].store\nstore.tick()\n"
        "print(Order.objects.count(), len(store.jobs.search()), len(store.promises.search('order-*')))"
    )
    assert found == "0 0 0\n"
