"""The front of a server: it passes bytes on, and ends connections of strangers that cost more than their calls need.

Flight receives a message whole before it asks who sent it, and uvicorn waits for the end of a request for ever, both on
any number of connections. The front sees bytes, those of TLS as well, and counts them: so many a connection may send
before a call of it has a known caller, and so many from call to call.
"""

import asyncio
import logging
import math
import resource
import socket
import threading
import time
from collections import deque
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

logger = logging.getLogger("tableveil.front")

BYTES_OF_STRANGERS = 256 * 2**10
"""Bytes that a connection may send before a call of it has a known caller."""

BYTES_OF_KNOWN = 16 * 2**20
"""Bytes that a connection of a known caller may send beyond those for which its calls and answers make room."""

BYTES_OF_CALL = 128 * 2**10
"""The room that a call of a known caller makes: for the longest statement."""

ANSWERED_FOR_ONE = 32
"""So many bytes of answers make room for one: a client acknowledges what it takes."""

STRANGERS = 512
"""Connections without a known caller: beyond them, the oldest is closed."""

_DESCRIPTORS_KEPT = 256
"""Descriptors of the process for all else than connections, each of which takes three: two here, and one behind."""

_WAITING = 64
"""Connections that wait to be passed on where there is no room for strangers. Each takes one descriptor."""

SECONDS_TO_ASK = 10.0
"""The time in which a stranger of a console sends the head of a request."""

SECONDS_OF_REQUEST = 60.0
"""The time in which the rest of a stranger's request comes, and its answer leaves."""

_PIECE = 64 * 2**10
_ANSWERED_PIECE = 256 * 2**10
_SECONDS_OF_REST = 1.0
_SECONDS_OF_SILENCE = 60.0
_SECONDS_TO_START = 30.0


@dataclass(slots=True, eq=False)
class _Passage:
    """A connection from a client to the server behind the front; `ends` is when a stranger has had enough time."""

    peer: str
    sockets: tuple[socket.socket, socket.socket]
    room: float = BYTES_OF_STRANGERS
    ends: float = math.inf
    principals: set[str] = field(default_factory=set)

    @property
    def host(self) -> str:
        """The client's address without its port, as gRPC spells it."""
        return self.peer.rpartition(":")[0]

    def close(self) -> None:
        # Both directions find their ends, and close the sockets.
        for each in self.sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


@dataclass(frozen=True, slots=True)
class FrontLimits:
    """The limits of a server's connections.

    `bytes_of_known` bounds what a known caller sends beyond the room that calls and answers make. `share_of_address` of
    the connections may come from one address that is none of the `proxies`. A stranger has `seconds_to_ask`.
    """

    bytes_of_known: float = BYTES_OF_KNOWN
    share_of_address: float = 1.0
    proxies: frozenset[str] = frozenset()
    seconds_to_ask: float = math.inf


@dataclass(slots=True)
class Passages:
    """The connections, by the address that the server behind the front sees. Used from any thread."""

    limits: FrontLimits = FrontLimits()
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _by_port: dict[int, _Passage] = field(default_factory=dict)

    def peer(self, seen: str) -> str:
        """The address of the client, as gRPC spells it, of a call that the server sees coming from another address."""
        with self._lock:
            passage = self._of(seen)
        return passage.peer if passage else seen

    def admits(self, seen: str, principal: str, most: float = math.inf) -> bool:
        """Whether a connection may carry a call of this principal, who may have at most so many open; it has room then.

        A connection that was closed, or that did not come by the front, is not counted.
        """
        with self._lock:
            if (passage := self._of(seen)) is None:
                return True
            new = principal not in passage.principals
            if new and sum(principal in each.principals for each in self._by_port.values()) >= most:
                return False
            more = BYTES_OF_CALL if passage.principals else self.limits.bytes_of_known
            passage.principals.add(principal)
            passage.ends = math.inf
            self.make_room(passage, more)
            return True

    def asked(self, seen: str) -> None:
        """The head of a stranger's request has come."""
        with self._lock:
            if (passage := self._of(seen)) is not None and not passage.principals:
                passage.ends = time.monotonic() + SECONDS_OF_REQUEST

    def make_room(self, passage: _Passage, size: float) -> None:
        """Lets a connection send so many bytes more."""
        most = self.limits.bytes_of_known if passage.principals else BYTES_OF_STRANGERS
        passage.room = min(passage.room + size, most)

    def add(self, port: int, passage: _Passage) -> list[_Passage]:
        """Adds a connection, and returns those that give way to it: the oldest strangers, or itself."""
        passage.ends = time.monotonic() + self.limits.seconds_to_ask
        with self._lock:
            self._by_port[port] = passage
            strangers = {number: each for number, each in self._by_port.items() if not each.principals}
            beside = [number for number, each in strangers.items() if each.host == passage.host]
            of_address = sum(each.host == passage.host for each in self._by_port.values())
            lost = set(list(strangers)[: max(-self._room_beside(len(strangers)), 0)])
            most = most_connections() * self.limits.share_of_address
            if passage.host not in self.limits.proxies and of_address > most:
                lost.add(beside[0])
            return [self._by_port.pop(number) for number in lost]

    def room_for_strangers(self) -> int:
        """So many more may come before the oldest gives way."""
        with self._lock:
            return self._room_beside(sum(not each.principals for each in self._by_port.values()))

    def _room_beside(self, strangers: int) -> int:
        known = len(self._by_port) - strangers
        return min(STRANGERS, max(most_connections() - known, 0)) - strangers

    def late(self) -> list[_Passage]:
        """Strangers who have not asked, or have not been answered, in time."""
        now = time.monotonic()
        with self._lock:
            return [each for each in self._by_port.values() if each.ends < now]

    def remove(self, port: int) -> None:
        """It is closed."""
        with self._lock:
            self._by_port.pop(port, None)

    def all(self) -> list[_Passage]:
        """Every connection."""
        with self._lock:
            return list(self._by_port.values())

    def _of(self, seen: str) -> _Passage | None:
        port = seen.rpartition(":")[2]
        return self._by_port.get(int(port)) if port.isdigit() else None


class Front:
    """Listens in a thread of its own, and passes connections on to a port of this machine."""

    def __init__(self, host: str, port: int, inner: int, passages: Passages) -> None:
        """Raises `OSError` if the address cannot be used."""
        listening = _listening(host, port)
        self.port: int = listening[0].getsockname()[1]
        self._inner, self._passages = inner, passages
        self._loop = asyncio.new_event_loop()
        self._silent_until = 0.0
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._run, args=(listening,), name="tableveil-front", daemon=True)
        self._ready = threading.Event()
        self._thread.start()
        self._ready.wait(_SECONDS_TO_START)

    def close(self) -> None:
        """Takes no more connections, and ends those that are there."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_SECONDS_TO_START)

    def _run(self, listening: list[socket.socket]) -> None:
        asyncio.set_event_loop(self._loop)
        for each in listening:
            self._begin(self._take(each))
        if self._passages.limits.seconds_to_ask < math.inf:
            self._begin(self._end_late())
        self._loop.call_soon(self._ready.set)
        try:
            self._loop.run_forever()
        finally:
            for task in self._tasks:
                task.cancel()
            self._loop.run_until_complete(asyncio.gather(*self._tasks, return_exceptions=True))
            self._loop.close()

    def _begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _take(self, listening: socket.socket) -> None:
        with listening:
            while True:
                try:
                    taken = deque([await self._loop.sock_accept(listening)])
                except ConnectionError:
                    continue
                except OSError as error:
                    self._tell(f"no connection can be taken for a moment: {error.strerror}")
                    await asyncio.sleep(_SECONDS_OF_REST)
                    continue
                self._take_waiting(listening, taken)
                try:
                    while taken:
                        client, name = taken.popleft()
                        self._begin(self._pass(client, _spelled(name)))
                        # The next one may be there already: this one counts first.
                        await asyncio.sleep(0)
                finally:
                    for client, _ in taken:
                        client.close()

    def _take_waiting(self, listening: socket.socket, taken: deque[tuple[socket.socket, Any]]) -> None:
        """Takes all who wait; the oldest that would have to give way anyway are closed before they cost more."""
        most = max(self._passages.room_for_strangers(), _WAITING)
        # If there is a fault, the next one that is taken meets it.
        with suppress(OSError):
            while True:
                taken.append(listening.accept())
                taken[-1][0].setblocking(False)
                if len(taken) > most:
                    taken.popleft()[0].close()

    async def _end_late(self) -> None:
        while True:
            await asyncio.sleep(_SECONDS_OF_REST)
            for passage in self._passages.late():
                passage.close()

    async def _pass(self, client: socket.socket, peer: str) -> None:
        with suppress(OSError), client, socket.socket() as inner:
            inner.setblocking(False)
            for each in (client, inner):
                # Otherwise each small answer waits some 40 ms for the client's word on the one before.
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await self._loop.sock_connect(inner, ("127.0.0.1", self._inner))
            passage, port = _Passage(peer, (client, inner)), inner.getsockname()[1]
            for lost in self._passages.add(port, passage):
                lost.close()
            answering = self._begin(self._answer(passage, inner, client))
            try:
                await self._ask(passage, client, inner)
                # The client may send no more, and still take answers.
                inner.shutdown(socket.SHUT_WR)
                await answering
            finally:
                self._passages.remove(port)
                passage.close()
                answering.cancel()
                await asyncio.wait([answering])

    async def _ask(self, passage: _Passage, client: socket.socket, inner: socket.socket) -> None:
        while piece := await self._loop.sock_recv(client, _PIECE):
            passage.room -= len(piece)
            if passage.room < 0:
                self._tell("a connection sent more than its calls need, and was closed")
                raise ConnectionAbortedError
            await self._loop.sock_sendall(inner, piece)

    def _tell(self, warning: str) -> None:
        """Now and then: strangers must not fill the log."""
        if (now := self._loop.time()) >= self._silent_until:
            logger.warning("%s; for a minute nothing else is told of connections", warning)
            self._silent_until = now + _SECONDS_OF_SILENCE

    async def _answer(self, passage: _Passage, inner: socket.socket, client: socket.socket) -> None:
        with suppress(OSError):
            while piece := await self._loop.sock_recv(inner, _ANSWERED_PIECE):
                self._passages.make_room(passage, len(piece) // ANSWERED_FOR_ONE)
                await self._loop.sock_sendall(client, piece)
                # Neither waits while there is more to take: the other connections have their turn.
                await asyncio.sleep(0)
        passage.close()


def most_connections() -> int:
    """So many connections the process has descriptors for."""
    return max((resource.getrlimit(resource.RLIMIT_NOFILE)[0] - _DESCRIPTORS_KEPT) // 3, 1)


def _listening(host: str, port: int) -> list[socket.socket]:
    """A socket for each address of the host, all with one port."""
    opened: list[socket.socket] = []
    try:
        for family, _, _, _, place in dict.fromkeys(
            socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        ):
            listening = socket.socket(family, socket.SOCK_STREAM)
            listening.setblocking(False)
            opened.append(listening)
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind((place[0], port or opened[0].getsockname()[1], *place[2:]))
            listening.listen(1024)
    except OSError:
        for each in opened:
            each.close()
        raise
    return opened


def spelled_host(host: str) -> str:
    """An address without a port as gRPC spells it."""
    return f"ipv6:%5B{host}%5D" if ":" in host else f"ipv4:{host}"


def _spelled(name: tuple[Any, ...]) -> str:
    host, port = name[:2]
    return f"{spelled_host(host)}:{port}"
