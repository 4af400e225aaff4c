"""The pages: forms that change something, and one that waits for the end of a workflow."""

from __future__ import annotations

from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST

import resonate_core as rc
from resonate_core.contrib.django import send, task_backends

from .models import Order
from .tasks import send_receipt
from .workflows import fulfil

#: Seconds for which the page waits before it answers that the order is still open.
LONGEST_WAIT = 20.0


@require_GET
def shop(request: HttpRequest) -> HttpResponse:
    """The form, and the newest orders."""
    return render(request, "shop.html", {"orders": Order.objects.all()[:20]})


@require_POST
def place(request: HttpRequest) -> HttpResponse:
    """Places an order: the row, the receipt and the workflow exist together, or none of them."""
    email, item = request.POST.get("email", ""), request.POST.get("item", "")
    if not email or not item:
        return HttpResponseBadRequest("email and item must not be empty")
    with transaction.atomic():
        made = Order.objects.create(email=email, item=item)
        made.receipt = send_receipt.enqueue(made.pk).id
        made.save()
        fulfil.using(id=made.workflow).delay(made.pk)
        if item == "nothing":  # a rule that is checked last
            transaction.set_rollback(True)
            return HttpResponseBadRequest("the shop does not sell nothing")
    return redirect("order", number=made.pk)


@require_GET
def order(request: HttpRequest, number: int) -> HttpResponse:
    """An order, and how its receipt is doing."""
    found = get_object_or_404(Order, pk=number)
    return render(request, "order.html", {"order": found, "receipt": send_receipt.get_result(found.receipt)})


@require_POST
def decide(request: HttpRequest, number: int) -> HttpResponse:
    """Lets the order be shipped or cancelled."""
    with transaction.atomic():
        found = get_object_or_404(Order.objects.select_for_update(), pk=number)
        if found.state != "charged":
            return HttpResponse("this order does not wait for a decision", status=409)
        send(found.workflow, "decision", request.POST.get("decision", "cancel"), key="person")  # the first one counts
    return redirect("order", number=number)


@require_GET
async def wait(request: HttpRequest, number: int) -> JsonResponse:
    """Answers when the order is shipped or cancelled, or after a while that it is still open."""
    store = task_backends["default"].store
    try:
        seconds = float(request.GET.get("seconds", LONGEST_WAIT))
        workflow = await store.aio.wait(f"order-{number}", timeout=min(seconds, LONGEST_WAIT))
    except (ValueError, rc.Invalid):
        return JsonResponse({"error": "seconds must be a number of at least 0"}, status=400)
    except rc.NotFound:
        return JsonResponse({"error": "there is no such order"}, status=404)
    except TimeoutError:
        return JsonResponse({"state": "open"}, status=202)
    return JsonResponse({"state": workflow.state, "result": workflow.value.json()})
