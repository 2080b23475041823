"""A visit: the request of somebody who is signed in, and the ways to answer it."""

import hmac
import logging
import shutil
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

from anyio import to_thread
from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from tableveil.client import Client
from tableveil.client.listing import Listing
from tableveil.console.render import rendered
from tableveil.console.sessions import Sessions, VisitorSession
from tableveil.errors import FailureKind, TableveilError, UnauthenticatedError

logger = logging.getLogger("tableveil.console")

COOKIE = "__Host-tableveil"
_STATUS: dict[str, int] = {
    FailureKind.INVALID: 400,
    FailureKind.UNAUTHENTICATED: 401,
    FailureKind.DENIED: 403,
    FailureKind.NOT_FOUND: 404,
    FailureKind.CONFLICT: 409,
    FailureKind.GUARDED: 409,
    FailureKind.INFEASIBLE: 409,
    FailureKind.BUSY: 503,
}

_MOST_FIELDS = 10_000
_LARGEST_FIELD = 8 * 2**20
_LARGEST_FORM = 16 * 2**20
"""The fields of a form are held in memory; a policy is the largest of them."""

_FIELDS_BESIDE_FILE, _LARGEST_BESIDE_FILE = 10, 4096
_COPIES = 2
"""A file lies on the disk as it comes in, and once more until it is loaded."""

Item = TypeVar("Item")
Endpoint = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Visit:
    """One request of a session; the form is empty unless it is posted."""

    request: Request
    session: VisitorSession
    form: FormData = field(default_factory=FormData)

    @property
    def client(self) -> Client:
        """The service, as this visitor."""
        return self.session.client

    @property
    def is_part(self) -> bool:
        """Whether the answer becomes a part of a page that is shown already."""
        return self.request.headers.get("hx-request") == "true"

    def path(self, name: str) -> str:
        """A part of the page's address."""
        return str(self.request.path_params[name])

    def asked(self, name: str) -> str:
        """A field of the page's query."""
        return self.request.query_params.get(name, "")

    def text(self, name: str) -> str:
        """A field of the form, with the line breaks of this system."""
        value = self.form.get(name, "")
        return value.replace("\r\n", "\n").strip() if isinstance(value, str) else ""

    def texts(self, name: str) -> list[str]:
        """All fields of the form of that name."""
        return [value for value in self.form.getlist(name) if isinstance(value, str)]

    def file(self, name: str) -> UploadFile | None:
        """A file of the form."""
        value = self.form.get(name)
        return value if isinstance(value, UploadFile) else None

    def page(self, template: str, status: int = 200, **shown: Any) -> Response:
        """The page of a template."""
        self.session.refresh_rights()
        return rendered(template, status, visit=self, **shown)

    def go(self, path: str) -> Response:
        """Sends the browser on, by a request that only reads."""
        return RedirectResponse(quote(path, safe="/?=&%#"), 303)

    def failed(self, error: TableveilError) -> Response:
        """The page of an error."""
        return self.page("failed.html", status_of(error), error=error)

    def listed(self, template: str, listing: Listing[Item], **shown: Any) -> Response:
        """The page of a template with a page of a list: the first one, or the one that the address names."""
        items, token = listing.page(self.asked("after"))
        return self.page(template, items=items, following=self.with_field("after", token) if token else "", **shown)

    def with_field(self, name: str, value: str) -> str:
        """The address of this page with another field in its query; none if it is empty."""
        fields = {name: text for name, text in {**self.request.query_params, name: value}.items() if text}
        return f"{self.request.url.path}?{urlencode(fields)}" if fields else self.request.url.path


def status_of(error: TableveilError) -> int:
    """The status of a page that shows an error."""
    return _STATUS.get(error.kind, 502)


def visited(view: Callable[[Visit], Response], sessions: Sessions, *, takes_file: bool = False) -> Endpoint:
    """An endpoint for those who are signed in: errors of the service are shown, and forms must come from here.

    A form is as large as memory allows, or with a file as the disk does.
    """

    async def endpoint(request: Request) -> Response:
        session = sessions.find(request.cookies.get(COOKIE))
        if session is None:
            return RedirectResponse(f"/sign-in?next={quote(request.url.path)}", 303)
        if not takes_file:
            return await answered(request, session)
        try:
            await to_thread.run_sync(sessions.begin_upload, session)
        except TableveilError as error:
            return Visit(request, session).failed(error)
        try:
            return await answered(request, session)
        finally:
            session.sending -= 1

    async def answered(request: Request, session: VisitorSession) -> Response:
        form = FormData()
        if request.method == "POST":
            if is_foreign(request):
                return rendered("refused.html", 403)
            room = shutil.disk_usage(sessions.directory).free // _COPIES if takes_file else _LARGEST_FORM
            length = request.headers.get("content-length", "")
            if not length.isdecimal() or int(length) > room:
                return rendered("too_large.html", 413, room=room)
            form = await request.form(
                max_files=int(takes_file),
                max_fields=_FIELDS_BESIDE_FILE if takes_file else _MOST_FIELDS,
                max_part_size=_LARGEST_BESIDE_FILE if takes_file else _LARGEST_FIELD,
            )
            sent = form.get("csrf")
            if not isinstance(sent, str) or not hmac.compare_digest(sent.encode(), session.csrf.encode()):
                await form.close()
                return rendered("refused.html", 403)
        visit = Visit(request, session, form)
        try:
            return await to_thread.run_sync(view, visit)
        except UnauthenticatedError:
            # The token has ended, and the session with it.
            sessions.end(request.cookies.get(COOKIE))
            return RedirectResponse("/sign-in", 303)
        except TableveilError as error:
            return visit.failed(error)
        except Exception as error:
            # Its text may quote a value: only where it happened is logged.
            logger.error("%s at %s", type(error).__name__, _place(error))
            return visit.page("broken.html", 500)
        finally:
            await form.close()

    return endpoint


def _place(error: Exception) -> str:
    (*_, last) = traceback.extract_tb(error.__traceback__)
    return f"{Path(last.filename).name}:{last.lineno}"


def is_foreign(request: Request) -> bool:
    """Whether a form comes from another site, as browsers say."""
    origin = request.headers.get("origin")
    own = f"{request.url.scheme}://{request.headers.get('host', '')}"
    return request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none") or (
        origin is not None and origin != own
    )
