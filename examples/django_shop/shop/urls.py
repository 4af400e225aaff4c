"""The pages of the shop."""

from __future__ import annotations

from django.contrib import admin
from django.urls import path

from . import views

urlpatterns = [
    path("", views.shop, name="shop"),
    path("orders/", views.place, name="place"),
    path("orders/<int:number>/", views.order, name="order"),
    path("orders/<int:number>/decide/", views.decide, name="decide"),
    path("orders/<int:number>/wait/", views.wait, name="wait"),
    path("admin/", admin.site.urls),
]
