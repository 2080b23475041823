"""Signing in: by a token, or at an OpenID Connect provider; and signing out."""

import hmac
import re
import time
from functools import partial
from urllib.parse import urlsplit

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from tableveil.client import Client
from tableveil.console.open_id import LOGIN_SECONDS, Login, SignInProvider
from tableveil.console.render import rendered
from tableveil.console.sessions import LONGEST_SECONDS, Sessions
from tableveil.console.settings import ConsoleSettings
from tableveil.console.visit import COOKIE, is_foreign, status_of
from tableveil.errors import InvalidError, TableveilError

_LOGIN = "__Host-tableveil-login"
_REMEMBERED = re.compile(r"([\w-]{43})\.([\w-]{43})\.([\w-]{43})", re.ASCII)
_LONGEST_TOKEN = 16_384


class SignInPages:
    """The pages before a session begins, and after it ends."""

    def __init__(self, settings: ConsoleSettings, sessions: Sessions) -> None:
        self._settings = settings
        self._sessions = sessions
        self._provider = SignInProvider(settings.open_id) if settings.open_id is not None else None

    async def form(self, request: Request) -> Response:
        """Asks for a token, or for the provider."""
        return self._form(request.query_params.get("next", ""))

    async def by_token(self, request: Request) -> Response:
        """Begins a session by the token in the form."""
        if is_foreign(request):
            return rendered("refused.html", 403)
        form = await request.form(max_files=0, max_fields=10, max_part_size=_LONGEST_TOKEN)
        token, following = (str(form.get(name, "")).strip() for name in ("token", "next"))
        try:
            # Without one, a client would look for a token of its own.
            if not token:
                raise InvalidError.of("TOKEN_MISSING", "token", "nothing", "your token, as the admin gave it to you")
            name = await self._begin(token, LONGEST_SECONDS)
        except TableveilError as error:
            return self._form(following, error)
        # Nobody has the name of the earlier session any more.
        await to_thread.run_sync(self._sessions.end, request.cookies.get(COOKIE))
        return self._opened(name, RedirectResponse(_inside(following), 303))

    async def by_provider(self, request: Request) -> Response:
        """Sends the browser to the provider, and remembers in a cookie of its own what must come back."""
        if self._provider is None or is_foreign(request):
            return rendered("refused.html", 403)
        try:
            login, address = await to_thread.run_sync(self._provider.begin)
        except TableveilError as error:
            return self._form("", error)
        # The browser does not send the session's cookie when the provider's site sends it back.
        await to_thread.run_sync(self._sessions.end, request.cookies.get(COOKIE))
        answer = RedirectResponse(address, 303, {"content-security-policy": "default-src 'none'"})
        remembered = ".".join((login.state, login.nonce, login.verifier))
        answer.set_cookie(_LOGIN, remembered, max_age=LOGIN_SECONDS, httponly=True, secure=True, samesite="lax")
        return answer

    async def callback(self, request: Request) -> Response:
        """Begins a session by what the provider sent; a page of this site goes on, so that its cookie is sent."""
        if self._provider is None:
            return rendered("missing.html", 404)
        remembered = _REMEMBERED.fullmatch(request.cookies.get(_LOGIN, ""))
        login = Login(*remembered.groups()) if remembered else None
        state = request.query_params.get("state", "").encode("utf-8", "replace")
        if login is None or not hmac.compare_digest(login.state.encode(), state):
            return rendered("refused.html", 403)
        try:
            code = request.query_params.get("code", "")
            token, ends = await to_thread.run_sync(partial(self._provider.complete, login, code))
            name = await self._begin(token, ends - time.time())
        except TableveilError as error:
            answer = self._form("", error)
        else:
            answer = self._opened(name, rendered("signed_in.html"))
        answer.delete_cookie(_LOGIN, secure=True, httponly=True, samesite="lax")
        return answer

    async def out(self, request: Request) -> Response:
        """Ends the session."""
        if is_foreign(request):
            return rendered("refused.html", 403)
        await to_thread.run_sync(self._sessions.end, request.cookies.get(COOKIE))
        answer = RedirectResponse("/sign-in", 303)
        answer.delete_cookie(COOKIE, secure=True, httponly=True, samesite="strict")
        return answer

    async def _begin(self, token: str, seconds: float) -> str:
        settings = self._settings
        connect = partial(Client, settings.service, token, ca_certificate=settings.ca_certificate)
        name, _ = await to_thread.run_sync(self._sessions.begin, connect, seconds)
        return name

    def _form(self, following: str, error: TableveilError | None = None) -> Response:
        return rendered(
            "sign_in.html",
            200 if error is None else status_of(error),
            following=_inside(following),
            error=error,
            provider=None if self._settings.open_id is None else urlsplit(self._settings.open_id.issuer).hostname,
        )

    @staticmethod
    def _opened(name: str, answer: Response) -> Response:
        # Browsers send it without TLS to this machine itself, and nowhere else.
        answer.set_cookie(COOKIE, name, path="/", httponly=True, secure=True, samesite="strict")
        return answer


def _inside(following: str) -> str:
    """The address to go on to, if it is one of this site, else its start."""
    parts = urlsplit(following)
    inside = (
        following.startswith("/") and not following.startswith(("//", "/\\")) and not (parts.scheme or parts.netloc)
    )
    return following if inside and following.isprintable() else "/"
