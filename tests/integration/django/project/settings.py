"""A project whose database is the one of the test, and whose backends have every option."""

import os
from urllib.parse import urlsplit

import django

SECRET_KEY = "of a test"
DEBUG = os.environ.get("DEBUG") == "1"
ALLOWED_HOSTS = ["*"]
ROOT_URLCONF = "urls"
USE_TZ = os.environ.get("USE_TZ", "1") == "1"
TIME_ZONE = "Asia/Kolkata"
STATIC_URL = "static/"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # quick
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
    "resonate_core.contrib.django",
    "work",
]
if django.VERSION < (6, 0):
    INSTALLED_APPS.append("django_tasks")
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
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
url = urlsplit(os.environ["DATABASE_URL"])
if url.scheme == "sqlite":
    DATABASES = {
        "default": {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": url.path,
            "OPTIONS": {"transaction_mode": "IMMEDIATE"},
            "TEST": {"NAME": url.path + ".test"},
        }
    }
else:
    DATABASES = {
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": url.path[1:],
            "USER": url.username,
            "HOST": url.hostname,
            "PORT": url.port,
            "TEST": {"NAME": url.path[1:] + "_test"},
        }
    }
TASKS = {
    "default": {
        "BACKEND": "resonate_core.contrib.django.ResonateBackend",
        "QUEUES": ["default", "mail"],
        "OPTIONS": {"WORKER": {"concurrency": 4, "poll_interval": 50}},
    },
    "apart": {
        "BACKEND": "resonate_core.contrib.django.ResonateBackend",
        "OPTIONS": {"STORE": os.environ.get("STORE_APART", "apart.db"), "DURABILITY": "normal", "JOB": {"max_retries": 1}},
    },
    "simulated": {"BACKEND": "resonate_core.contrib.django.ResonateTestBackend", "QUEUES": ["default", "mail"]},
}
