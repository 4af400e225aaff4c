"""Jobs in the admin: a list, a page for each job, and actions on them."""

from __future__ import annotations

from typing import Any

import django
from django.contrib import admin, messages
from django.contrib.admin.utils import quote, unquote
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils.translation import gettext as _, ngettext

from resonate_core import Job as StoreJob
from resonate_core.base.states import JOB_STATES
from resonate_core.errors import Conflict, Invalid, NotFound, ResonateError

from .admin_job import ACTIONS, actions_on, attempts_of, fields_of, text_of
from .admin_list import Question, page_of
from .backend import ResonateBackend
from .backends import backend_of, resonate_backends
from .instants import to_datetime
from .models import Job

__all__ = ["JobAdmin"]

#: The states whose last error the list shows.
_WITH_ERROR = ("retry", "archived", "failed", "expired")


@admin.register(Job)
class JobAdmin(admin.ModelAdmin):
    """The pages of jobs. They read the store by its typed calls; there is no table of Django."""

    def get_urls(self) -> list[Any]:
        """The list, and the page of a job."""
        view = self.admin_site.admin_view
        return [
            path("", view(self.changelist_view), name="resonate_job_changelist"),
            path("<path:object_id>/change/", view(self.change_view), name="resonate_job_change"),
        ]

    def has_add_permission(self, request: HttpRequest) -> bool:
        """False: only programs enqueue."""
        return False

    def _may(self, request: HttpRequest, action: str) -> bool:
        """Whether the user may run, cancel or delete jobs."""
        allowed = self.has_delete_permission(request) if action == "delete" else self.has_change_permission(request)
        return bool(allowed)

    def _context(self, request: HttpRequest) -> dict[str, Any]:
        """Return the context that all pages have in common."""
        context = self.admin_site.each_context(request)
        return {**context, "opts": self.opts, "breadcrumbs_are_a_list": django.VERSION >= (6, 1)}

    def _backend(self, alias: str) -> ResonateBackend:
        try:
            return backend_of(alias or None)
        except LookupError as error:
            raise Http404(str(error)) from error

    # -- the list -----------------------------------------------------------------------------------------------------

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """The list of jobs, with filters and actions."""
        if not self.has_view_or_change_permission(request):
            raise PermissionDenied
        question = Question.read(request.GET)
        backend = self._backend(question.backend)
        if request.method == "POST":
            return self._act(request, backend, request.POST.getlist("_selected_action"), request.get_full_path())
        try:
            page = page_of(backend.store, question)
        except (Invalid, Conflict) as error:  # a pattern or a cursor that is none
            self.message_user(request, str(error), messages.ERROR)
            return HttpResponseRedirect(reverse(f"{self.admin_site.name}:resonate_job_changelist"))
        backends = [each.alias for each in resonate_backends()]
        filters = []
        if len(backends) > 1:
            filters.append(
                (_("backend"), [(name, question.query(backend=name, queue=""), name == backend.alias) for name in backends])
            )
        states = [(_("All"), question.query(state=""), not question.state)]
        states += [(f"{name} ({page.counts[name]})", question.query(state=name), question.state == name) for name in JOB_STATES]
        queues = [(_("All"), question.query(queue=""), not question.queue)]
        queues += [(name, question.query(queue=name), question.queue == name) for name in page.queues]
        filters += [(_("state"), states), (_("queue"), queues)]
        context = {
            **self._context(request),
            "title": _("Jobs"),
            "question": question,
            "page": page,
            "filters": filters,
            "rows": [self._row(job, backend) for job in page.jobs],
            "actions": [action for action in ACTIONS if self._may(request, action)],
        }
        return TemplateResponse(request, "admin/resonate/job/list.html", context)

    def _row(self, job: StoreJob, backend: ResonateBackend) -> dict[str, Any]:
        ended = next((at for at in (job.completed_at, job.failed_at, job.cancelled_at, job.expired_at) if at is not None), None)
        return {
            "job": job,
            "url": self._url_of(job.id, backend),
            "enqueued_at": to_datetime(job.sent_at),
            "ended_at": to_datetime(ended),
            "attempts": len(job.attempts),
            "error": (job.error["message"] or job.error["code"]) if job.error is not None and job.state in _WITH_ERROR else "",
        }

    def _url_of(self, id: str, backend: ResonateBackend) -> str:
        url = reverse(f"{self.admin_site.name}:resonate_job_change", args=[quote(id)])
        return url if backend.alias == resonate_backends()[0].alias else f"{url}?backend={backend.alias}"

    # -- one job ------------------------------------------------------------------------------------------------------

    def change_view(self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        """The page of a job."""
        if not self.has_view_or_change_permission(request):
            raise PermissionDenied
        backend = self._backend(request.GET.get("backend", ""))
        id = unquote(object_id)
        if request.method == "POST":
            return self._act(request, backend, [id], request.get_full_path())
        try:
            job = backend.store.jobs.get(id)
        except (NotFound, Invalid) as error:
            raise Http404(str(error)) from error
        context = {
            **self._context(request),
            "title": _("Job"),
            "subtitle": job.type,
            "job": job,
            "fields": fields_of(job),
            "attempts": attempts_of(job),
            "payload": text_of(job.payload),
            "result": text_of(job.result),
            "actions": [action for action in actions_on(job) if self._may(request, action)],
        }
        return TemplateResponse(request, "admin/resonate/job/detail.html", context)

    # -- actions ------------------------------------------------------------------------------------------------------

    def _act(self, request: HttpRequest, backend: ResonateBackend, ids: list[str], back: str) -> HttpResponse:
        """Run an action on some jobs; an action that cannot be undone needs a confirmation."""
        action = request.POST.get("action", "")
        if action not in ACTIONS:
            self.message_user(request, _("No action was chosen."), messages.WARNING)
            return HttpResponseRedirect(back)
        if not self._may(request, action):
            raise PermissionDenied
        if not ids:
            self.message_user(request, _("No job was chosen."), messages.WARNING)
            return HttpResponseRedirect(back)
        if action != "run" and "confirmed" not in request.POST:
            context = {
                **self._context(request),
                "title": _("Are you sure?"),
                "action": action,
                "ids": ids,
                "back": back,
            }
            return TemplateResponse(request, "admin/resonate/job/confirm.html", context)
        done = [id for id in ids if self._act_on(request, backend, action, id)]
        if done:
            shown = {
                "run": ngettext("%d job runs again.", "%d jobs run again.", len(done)),
                "cancel": ngettext("%d job was cancelled.", "%d jobs were cancelled.", len(done)),
                "delete": ngettext("%d job was deleted.", "%d jobs were deleted.", len(done)),
            }
            self.message_user(request, shown[action] % len(done), messages.SUCCESS)
        gone = action == "delete" and len(ids) == 1 and request.resolver_match.url_name == "resonate_job_change" and done
        return HttpResponseRedirect(reverse(f"{self.admin_site.name}:resonate_job_changelist") if gone else back)

    def _act_on(self, request: HttpRequest, backend: ResonateBackend, action: str, id: str) -> bool:
        try:
            getattr(backend.store.jobs, action)(id)
        except ResonateError as error:  # another state than when the page was made
            self.message_user(request, f"{id}: {error}", messages.ERROR)
            return False
        job = Job(pk=id)
        if action == "delete":
            self.log_deletions(request, [job])
        else:
            self.log_change(request, job, {"run": _("Run again"), "cancel": _("Cancelled")}[action])
        return True
