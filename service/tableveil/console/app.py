"""The application: addresses and their pages, and what every answer of it carries."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.resources import files

from anyio import to_thread
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tableveil.console.render import rendered, stylesheet
from tableveil.console.sessions import Sessions
from tableveil.console.settings import ConsoleSettings
from tableveil.console.sign_in import SignInPages
from tableveil.console.views import jobs, releases, server, tables, uploads, worksheets
from tableveil.console.visit import COOKIE, Visit, visited
from tableveil.serving.front import Passages

_THREADS = 128
"""Calls of the service at once: a page waits in a thread, and so does each job that is watched."""

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; frame-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

_HEADERS = {
    "content-security-policy": _POLICY,
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "SAMEORIGIN",
}

View = Callable[[Visit], Response]

_GET: dict[str, View] = {
    "/": releases.start,
    "/releases": releases.listed,
    "/releases/{number:int}": releases.one,
    "/releases/{number:int}/report": releases.report,
    "/releases/{number:int}/compare": releases.compare,
    "/releases/{number:int}/questions": releases.ask,
    "/approvals": releases.queue,
    "/jobs": jobs.listed,
    "/jobs/{number:int}": jobs.one,
    "/dry-runs/{number:int}": jobs.dry_run,
    "/tables": tables.listed,
    "/tables/upload": uploads.form,
    "/tables/one": tables.one,
    "/tables/remarks": tables.remarks,
    "/uploads/{number:int}": uploads.preview,
    "/worksheets": worksheets.listed,
    "/worksheets/{number:int}": worksheets.decide,
    "/worksheets/{number:int}/labels": worksheets.labels,
    "/worksheets/{number:int}/policy": worksheets.policy,
    "/worksheets/{number:int}/compare": worksheets.compare,
    "/worksheets/{number:int}/release": worksheets.release,
    "/server": server.overview,
    "/server/grants": server.grants,
    "/server/principals": server.principals,
    "/server/targets": server.targets,
    "/server/audit": server.audit,
}

_POST: dict[str, View] = {
    "/releases/{number:int}/approve": releases.approve,
    "/releases/{number:int}/reject": releases.reject,
    "/releases/{number:int}/promote": releases.promote,
    "/releases/{number:int}/withdraw": releases.withdraw,
    "/jobs/{number:int}/cancel": jobs.cancel,
    "/tables/upload": uploads.receive,
    "/worksheets": worksheets.begin,
    "/uploads/{number:int}": uploads.load,
    "/server/audit/verify": server.verify,
    "/worksheets/{number:int}": worksheets.decided,
    "/worksheets/{number:int}/repair": worksheets.repair,
    "/worksheets/{number:int}/policy": worksheets.written,
    "/worksheets/{number:int}/choose": worksheets.choose,
    "/worksheets/{number:int}/rehearse": worksheets.rehearse,
    "/worksheets/{number:int}/submit": worksheets.submit,
    "/worksheets/{number:int}/delete": worksheets.delete,
}


def make_app(settings: ConsoleSettings, sessions: Sessions, passages: Passages | None = None) -> Starlette:
    """The console of a service, with the sessions that its lifespan ends, and the visitors' connections."""
    signing = SignInPages(settings, sessions)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        to_thread.current_default_thread_limiter().total_tokens = _THREADS
        try:
            yield
        finally:
            await to_thread.run_sync(sessions.close)

    return Starlette(
        routes=[
            Route("/static/{name}", _static),
            Route("/sign-in", signing.form, methods=["GET"]),
            Route("/sign-in", signing.by_token, methods=["POST"]),
            Route("/sign-in/provider", signing.by_provider, methods=["POST"]),
            Route("/callback", signing.callback),
            Route("/sign-out", signing.out, methods=["POST"]),
            Route("/jobs/{number:int}/events", jobs.events(sessions)),
            Route("/uploads/{number:int}/events", uploads.events(sessions)),
            *(Route(path, visited(view, sessions), methods=["GET"]) for path, view in _GET.items()),
            *(
                Route(path, visited(view, sessions, takes_file=view is uploads.receive), methods=["POST"])
                for path, view in _POST.items()
            ),
        ],
        middleware=[Middleware(_Guarded, sessions, passages or Passages())],
        exception_handlers={404: _missing, 405: _missing, 500: _broken},
        lifespan=lifespan,
    )


class _Guarded:
    """Tells the front whose connection it is, and gives each answer the headers that keep others out."""

    def __init__(self, app: ASGIApp, sessions: Sessions, passages: Passages) -> None:
        self._app = app
        self._sessions, self._passages = sessions, passages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name.lower() for name, _ in message.get("headers", [])}
                more = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
                message["headers"] = [*message.get("headers", []), *(one for one in more if one[0] not in given)]
            await send(message)

        if scope["type"] == "http" and scope["client"] is not None:
            seen = f":{scope['client'][1]}"
            if session := self._sessions.find(Request(scope).cookies.get(COOKIE)):
                self._passages.admits(seen, session.principal)
            else:
                self._passages.asked(seen)
        await self._app(scope, receive, guarded)


_TYPES = {
    "htmx.min.js": "text/javascript",
    "console.js": "text/javascript",
    "htmx.LICENSE.txt": "text/plain",
    "icon.svg": "image/svg+xml",
}


async def _static(request: Request) -> Response:
    name = request.path_params["name"]
    kept = {"cache-control": "private, max-age=3600"}
    if name == "style.css":
        return Response(stylesheet(), media_type="text/css", headers=kept)
    if name not in _TYPES:
        return rendered("missing.html", 404)
    content = files("tableveil.console").joinpath("static", name).read_bytes()
    return Response(content, media_type=_TYPES[name], headers=kept)


async def _missing(_: Request, error: Exception) -> Response:
    return rendered("missing.html", 404)


async def _broken(_: Request, error: Exception) -> Response:
    # The server's log has the cause; its text may quote data.
    return rendered("broken.html", 500)
