"""The pages of the admin: their contents, the permissions to open them, and their actions."""

from __future__ import annotations

from unittest import mock

from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.test import override_settings
from django.urls import reverse
from live import LiveTestCase, work
from work import tasks

from resonate_core.contrib.django import admin_list

LIST = "admin:resonate_job_changelist"


def page_of(id: str) -> str:
    return reverse("admin:resonate_job_change", args=[id])


class AdminTestCase(LiveTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.client.force_login(User.objects.create_superuser("root", "root@example.org", "x"))

    def ids(self, query=""):
        page = self.client.get(reverse(LIST) + query)
        assert page.status_code == 200
        return [row["job"].id for row in page.context["rows"]]

    def act(self, action, *ids, confirmed=True, **options):
        data = {"action": action, "_selected_action": ids} | ({"confirmed": "yes"} if confirmed else {})
        return self.client.post(reverse(LIST), data, follow=True, **options)


class ListTests(AdminTestCase):
    def test_it_is_in_the_index(self):
        self.assertContains(self.client.get(reverse("admin:index")), f'href="{reverse(LIST)}"')

    def test_without_jobs(self):
        self.assertContains(self.client.get(reverse(LIST)), "No jobs match.")

    def test_the_newest_are_first(self):
        ids = [tasks.add.enqueue(n, 0).id for n in range(3)]
        assert self.ids() == ids[::-1]

    def test_filters(self):
        ended = tasks.add.enqueue(1, 2)
        failed = tasks.fail.enqueue("out of paper")
        work()
        mail = tasks.add.using(queue_name="mail").enqueue(3, 4)
        assert self.ids("?state=completed") == [ended.id]
        assert self.ids("?state=archived") == [failed.id]
        assert self.ids("?queue=mail") == [mail.id]
        assert self.ids("?state=completed&queue=mail") == []
        assert self.ids("?q=work.tasks.fail") == [failed.id]
        assert self.ids(f"?q={mail.id}") == [mail.id]
        assert self.ids(f"?q={mail.id}&state=completed") == []
        assert self.ids(f"?q=*{mail.id[-6:]}") == [mail.id]
        assert len(self.ids("?state=nonsense&p=-4")) == 3
        page = self.client.get(reverse(LIST))
        self.assertContains(page, "completed (1)")
        self.assertContains(page, "LookupError: out of paper")
        self.assertContains(page, "3 jobs")

    def test_pages(self):
        ids = [job.id for job in self.store.jobs.enqueue_many("t", range(250))]
        assert len(self.ids()) == 100
        assert len(self.ids("?p=3")) == 50
        assert len(self.ids("?p=99")) == 50
        seen = {id for number in (1, 2, 3) for id in self.ids(f"?p={number}")}
        assert seen == set(ids)

    def test_pages_of_too_many_jobs_to_sort(self):
        ids = sorted(job.id for job in self.store.jobs.enqueue_many("t", range(250)))
        with mock.patch.object(admin_list, "SORTED", 200):
            page = self.client.get(reverse(LIST))
            self.assertContains(page, "in the order of their ids")
            seen = []
            query = ""
            while True:
                page = self.client.get(reverse(LIST) + query)
                seen += [row["job"].id for row in page.context["rows"]]
                query = page.context["page"].next
                if not query:
                    break
        assert seen == ids

    def test_text_is_escaped(self):
        self.store.jobs.enqueue("<script>alert(1)</script>", id="<b>bold</b>", queue="<i>")
        page = self.client.get(reverse(LIST))
        self.assertNotContains(page, "<script>alert")
        self.assertNotContains(page, "<b>bold")
        self.assertContains(self.client.get(page_of("<b>bold</b>")), "&lt;b&gt;bold")

    def test_an_unknown_backend_or_cursor(self):
        assert self.client.get(reverse(LIST) + "?backend=none").status_code == 404
        assert self.client.get(page_of("none")).status_code == 404


class DetailTests(AdminTestCase):
    def test_a_failed_job(self):
        result = tasks.fail_twice.using(max_retries=1).enqueue("out of paper")
        work()
        page = self.client.get(page_of(result.id))
        for text in ("work.tasks.fail_twice", "archived", "out of paper", "builtins.LookupError", "Traceback", "worker-a", "1 / 1"):
            self.assertContains(page, text)
        assert page.context["actions"] == ["run", "cancel", "delete"]
        assert [attempt["number"] for attempt in page.context["attempts"]] == [2, 1]

    def test_payload_and_result(self):
        result = tasks.add.enqueue(1, b=2)
        work()
        page = self.client.get(page_of(result.id))
        assert page.context["payload"] == '{\n  "args": [\n    1\n  ],\n  "kwargs": {\n    "b": 2\n  }\n}'
        assert page.context["result"] == "3"
        assert page.context["actions"] == ["delete"]

    def test_bytes_are_shown_as_they_are_stored(self):
        self.store.jobs.enqueue("t", b"\xff\x00", id="raw")
        self.assertContains(self.client.get(page_of("raw")), "/wA=")

    @override_settings(USE_TZ=False)
    def test_without_time_zones(self):
        self.assertContains(self.client.get(page_of(tasks.add.enqueue(1, 2).id)), "pending")


class ActionTests(AdminTestCase):
    def test_run_a_failed_job_again(self):
        result = tasks.fail.enqueue("x")
        work()
        assert self.store.jobs.get(result.id).state == "archived"
        self.assertContains(self.act("run", result.id), "1 job runs again.")
        assert self.store.jobs.get(result.id).state == "pending"
        assert LogEntry.objects.get().object_id == result.id

    def test_cancel_and_delete_are_asked_back(self):
        ids = [tasks.add.enqueue(n, 0).id for n in range(2)]
        for action, gone in (("cancel", "cancelled"), ("delete", "deleted")):
            page = self.act(action, *ids, confirmed=False)
            self.assertContains(page, "Are you sure?")
            for id in ids:
                self.assertContains(page, id)
            self.assertContains(self.act(action, *ids), f"2 jobs were {gone}.")
        assert len(self.store.jobs.search()) == 0

    def test_from_the_page_of_a_job(self):
        result = tasks.add.enqueue(1, 2)
        page = self.client.post(page_of(result.id), {"action": "cancel", "confirmed": "yes"}, follow=True)
        self.assertContains(page, "1 job was cancelled.")
        page = self.client.post(page_of(result.id), {"action": "delete", "confirmed": "yes"}, follow=True)
        assert page.redirect_chain == [(reverse(LIST), 302)]

    def test_what_has_changed_meanwhile(self):
        result = tasks.add.enqueue(1, 2)
        work()
        page = self.act("cancel", result.id, "none")
        messages = [str(message) for message in page.context["messages"]]
        assert len(messages) == 2
        assert all(text.startswith((result.id, "none")) for text in messages)
        self.assertContains(self.act("run"), "No job was chosen.")
        self.assertContains(self.act("explode", result.id), "No action was chosen.")

    def test_of_another_backend(self):
        result = tasks.add.using(backend="apart").enqueue(1, 2)
        page = self.client.get(page_of(result.id) + "?backend=apart")
        self.assertContains(page, "work.tasks.add")
        self.client.post(page_of(result.id) + "?backend=apart", {"action": "delete", "confirmed": "yes"})
        assert self.client.get(page_of(result.id) + "?backend=apart").status_code == 404


class PermissionTests(AdminTestCase):
    def login_with(self, *permissions):
        user = User.objects.create_user("clerk", password="x", is_staff=True)
        user.user_permissions.set(Permission.objects.filter(codename__in=permissions, content_type__app_label="resonate"))
        self.client.force_login(user)

    def test_anonymous(self):
        self.client.logout()
        for url in (reverse(LIST), page_of("x")):
            assert reverse("admin:login") in self.client.get(url)["location"]

    def test_nothing(self):
        result = tasks.add.enqueue(1, 2)
        self.login_with()
        assert self.client.get(reverse(LIST)).status_code == 403
        assert self.client.get(page_of(result.id)).status_code == 403

    def test_view_only(self):
        result = tasks.add.enqueue(1, 2)
        self.login_with("view_job")
        assert self.ids() == [result.id]
        assert self.client.get(page_of(result.id)).context["actions"] == []
        for action in ("run", "cancel", "delete"):
            assert self.act(action, result.id).status_code == 403
        assert self.store.jobs.get(result.id).state == "pending"

    def test_change(self):
        result = tasks.add.enqueue(1, 2)
        self.login_with("view_job", "change_job")
        assert self.client.get(page_of(result.id)).context["actions"] == ["cancel"]
        assert self.act("delete", result.id).status_code == 403
        assert self.act("cancel", result.id).status_code == 200
        assert self.store.jobs.get(result.id).state == "cancelled"

    def test_forms_need_their_token(self):
        client = type(self.client)(enforce_csrf_checks=True)
        client.force_login(User.objects.get(username="root"))
        result = tasks.add.enqueue(1, 2)
        answer = client.post(page_of(result.id), {"action": "delete", "confirmed": "yes"})
        assert answer.status_code == 403
        assert self.store.jobs.get(result.id).state == "pending"
