"""Settings of the shop. It runs on SQLite, or on PostgreSQL: ``DATABASE_URL=postgresql://shop@db.internal/shop``."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import django

FOLDER = Path(__file__).parents[1]
TESTING = sys.argv[1:2] == ["test"]

SECRET_KEY = os.environ.get("SECRET_KEY", "only for this example")
DEBUG = os.environ.get("DEBUG") == "1"
ALLOWED_HOSTS = ["localhost", "127.0.0.1", "testserver"]
ROOT_URLCONF = "shop.urls"
WSGI_APPLICATION = "shop.wsgi.application"
STATIC_URL = "static/"
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "resonate_core.contrib.django",
    "shop",
]
if django.VERSION < (6, 0):
    INSTALLED_APPS.append("django_tasks")  # from 6.0 on, the framework is part of Django

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

url = urlsplit(os.environ.get("DATABASE_URL", f"sqlite:///{FOLDER / 'shop.db'}"))
if url.scheme == "sqlite":
    # IMMEDIATE: a transaction waits for its turn when it begins, instead of failing when it first writes.
    default = {"ENGINE": "django.db.backends.sqlite3", "NAME": unquote(url.path), "OPTIONS": {"transaction_mode": "IMMEDIATE"}}
else:
    default = {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(url.path[1:]),
        "USER": unquote(url.username or ""),
        "PASSWORD": unquote(url.password or ""),
        "HOST": url.hostname or "",
        "PORT": str(url.port or ""),
    }
DATABASES = {"default": default}

TASKS = {
    "default": {
        "BACKEND": f"resonate_core.contrib.django.{'ResonateTestBackend' if TESTING else 'ResonateBackend'}",
        "QUEUES": ["default", "mail"],
    }
}
