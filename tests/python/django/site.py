"""A site of Django with users and sessions, and the dashboard below ``/ops/queues``: run as a program of its own."""

import os

import django
from asgiref.sync import sync_to_async
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import path


def log_in(request: HttpRequest) -> HttpResponse:
    from django.contrib.auth import login
    from django.contrib.auth.models import User

    login(request, User.objects.get(username=request.GET["name"]))
    return HttpResponse("welcome")


def log_out(request: HttpRequest) -> HttpResponse:
    from django.contrib.auth import logout

    logout(request)
    return HttpResponse("bye")


def dismiss(request: HttpRequest) -> HttpResponse:
    from django.contrib.auth.models import User

    User.objects.filter(username=request.GET["name"]).update(is_active=False)
    return HttpResponse("done")


urlpatterns = [
    path("login/", log_in),
    path("logout/", log_out),
    path("dismiss/", dismiss),
    path("", lambda request: HttpResponse(f"this is Django, {request.user}")),
]

settings.configure(
    SECRET_KEY="of the test",
    ROOT_URLCONF=__name__,
    ALLOWED_HOSTS=["127.0.0.1"],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": os.environ["SITE_DATABASE"]}},
    INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions"],
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
    ],
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
)
django.setup()

from django.contrib.auth.models import User  # noqa: E402
from django.core.asgi import get_asgi_application  # noqa: E402
from django.core.management import call_command  # noqa: E402
from starlette.applications import Starlette  # noqa: E402
from starlette.routing import Mount  # noqa: E402

from bullrush.dashboard import app  # noqa: E402
from bullrush.django import authenticate  # noqa: E402

call_command("migrate", verbosity=0)
for name in ("ada", "bob"):
    User.objects.create_user(name, is_staff=name == "ada")


@sync_to_async
def authorize(name: str, action: str, queue: str) -> bool:
    return action == "view" or User.objects.get(username=name).is_staff


dashboard = app(os.environ["SITE_REDIS"], authenticate=authenticate, authorize=authorize)
application = Starlette(routes=[Mount("/ops/queues", dashboard), Mount("/", get_asgi_application())])
