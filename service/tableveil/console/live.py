"""Server-sent events: what changes is sent to a page, which asks for nothing."""

from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from tableveil.console.sessions import Sessions, VisitorSession
from tableveil.console.visit import COOKIE, Endpoint
from tableveil.errors import TableveilError


@dataclass(frozen=True, slots=True)
class PagePart:
    """A part of a page that takes the place of the one before; after the last one, the page is loaded anew."""

    text: str
    last: bool = False


Source = Callable[[VisitorSession, str], "tuple[Iterator[PagePart], Callable[[], None]]"]


def live(sessions: Sessions, source: Source) -> Endpoint:
    """An endpoint of the events that `source` gives for a number, with how to end them."""

    async def endpoint(request: Request) -> Response:
        session = sessions.find(request.cookies.get(COOKIE))
        if session is None:
            return Response(status_code=401)
        found, end = await to_thread.run_sync(source, session, str(request.path_params["number"]))
        return StreamingResponse(_sent(found, end), media_type="text/event-stream")

    return endpoint


async def _sent(events: Iterator[PagePart], end: Callable[[], None]) -> AsyncIterator[str]:
    try:
        while True:
            # A browser that leaves must not wait for a job that is quiet.
            event = await to_thread.run_sync(_next, events, abandon_on_cancel=True)
            if event is None:
                return
            lines = "".join(f"data: {line}\n" for line in event.text.splitlines())
            yield f"{lines}\n"
            if event.last:
                yield "event: end\ndata: \n\n"
                return
    finally:
        end()


def _next(events: Iterator[PagePart]) -> PagePart | None:
    try:
        return next(events, None)
    except TableveilError:
        # The page that is loaded anew shows the error.
        return PagePart("", True)
    except ValueError:
        # The connection was closed while it waited.
        return None
