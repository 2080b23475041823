"""The front of an endpoint: it passes bytes on to Flight, and ends connections that send much for no known caller.

Flight receives a message whole before it asks who sent it, of any size, on any number of connections. The front sees
bytes, those of TLS as well, and counts them: so many a connection may send before a call of it has a known caller, and
so many from call to call.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

logger = logging.getLogger("tableveil.endpoint")

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

_PIECE = 64 * 2**10
_SECONDS_OF_SILENCE = 60.0
_SECONDS_TO_START = 30.0


@dataclass(slots=True, eq=False)
class _Passage:
    """A connection from a client to Flight."""

    peer: str
    writers: list[asyncio.StreamWriter]
    room: int = BYTES_OF_STRANGERS
    is_known: bool = False

    def make_room(self, size: int) -> None:
        self.room = min(self.room + size, BYTES_OF_KNOWN if self.is_known else BYTES_OF_STRANGERS)

    def close(self) -> None:
        for writer in self.writers:
            writer.transport.abort()


@dataclass(slots=True)
class Passages:
    """The connections, by the address that Flight sees. Used from any thread."""

    _lock: threading.Lock = field(default_factory=threading.Lock)
    _by_port: dict[int, _Passage] = field(default_factory=dict)

    def peer(self, seen: str) -> str:
        """The address of the client, as gRPC spells it, of a call that Flight sees coming from another address."""
        peer = self._of(seen)
        return peer.peer if peer else seen

    def known(self, seen: str) -> None:
        """A call of a known caller has come."""
        if peer := self._of(seen):
            more = BYTES_OF_CALL if peer.is_known else BYTES_OF_KNOWN
            peer.is_known = True
            peer.make_room(more)

    def add(self, port: int, passage: _Passage) -> _Passage | None:
        """Adds a connection; returns the one that gives way to it."""
        with self._lock:
            self._by_port[port] = passage
            strangers = [each for each, peer in self._by_port.items() if not peer.is_known]
            return self._by_port.pop(strangers[0]) if len(strangers) > STRANGERS else None

    def remove(self, port: int) -> None:
        """It is closed."""
        with self._lock:
            self._by_port.pop(port, None)

    def all(self) -> list[_Passage]:
        """Every connection."""
        with self._lock:
            return list(self._by_port.values())

    def _of(self, seen: str) -> _Passage | None:
        with self._lock:
            return self._by_port.get(int(seen.rpartition(":")[2])) if seen.rpartition(":")[2].isdigit() else None


class Front:
    """Listens in a thread of its own, and passes connections on to a port of this machine."""

    def __init__(self, host: str, port: int, inner: int, passages: Passages) -> None:
        """Raises `OSError` if the address cannot be used."""
        listening = _listening(host, port)
        self.port: int = listening[0].getsockname()[1]
        self._inner, self._passages = inner, passages
        self._loop = asyncio.new_event_loop()
        self._silent_until = 0.0
        self._thread = threading.Thread(target=self._run, args=(listening,), name="tableveil-front", daemon=True)
        self._ready = threading.Event()
        self._thread.start()
        self._ready.wait(_SECONDS_TO_START)

    def close(self) -> None:
        """Takes no more connections, and ends those that are there."""
        self._loop.call_soon_threadsafe(self._stop)
        self._thread.join(_SECONDS_TO_START)

    def _run(self, listening: list[socket.socket]) -> None:
        asyncio.set_event_loop(self._loop)
        servers = [
            self._loop.run_until_complete(asyncio.start_server(self._pass, sock=each, limit=_PIECE))
            for each in listening
        ]
        self._ready.set()
        try:
            self._loop.run_forever()
        finally:
            for server in servers:
                server.close()
            for task in asyncio.all_tasks(self._loop):
                task.cancel()
            self._loop.run_until_complete(asyncio.sleep(0))
            self._loop.close()

    def _stop(self) -> None:
        for passage in self._passages.all():
            passage.close()
        self._loop.stop()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            from_inner, to_inner = await asyncio.open_connection("127.0.0.1", self._inner, limit=_PIECE)
        except OSError:
            writer.transport.abort()
            return
        passage = _Passage(_spelled(writer.get_extra_info("peername")), [writer, to_inner])
        port = to_inner.get_extra_info("sockname")[1]
        if (lost := self._passages.add(port, passage)) is not None:
            lost.close()
        answering = asyncio.ensure_future(self._answer(passage, from_inner, writer))
        try:
            await self._ask(passage, reader, to_inner)
            # The client may send no more, and still take answers.
            with suppress(OSError):
                to_inner.write_eof()
            await answering
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            answering.cancel()
            self._passages.remove(port)
            passage.close()

    async def _ask(self, passage: _Passage, reader: asyncio.StreamReader, inner: asyncio.StreamWriter) -> None:
        while piece := await reader.read(_PIECE):
            passage.room -= len(piece)
            if passage.room < 0:
                self._tell_of_closed()
                raise ConnectionAbortedError
            inner.write(piece)
            await inner.drain()

    def _tell_of_closed(self) -> None:
        """Now and then: strangers must not fill the log."""
        if (now := self._loop.time()) >= self._silent_until:
            logger.warning("a connection sent more than its calls need, and was closed; others are not told of soon")
            self._silent_until = now + _SECONDS_OF_SILENCE

    async def _answer(self, passage: _Passage, inner: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while piece := await inner.read(_PIECE):
                passage.make_room(len(piece) // ANSWERED_FOR_ONE)
                writer.write(piece)
                await writer.drain()
        passage.close()


def _listening(host: str, port: int) -> list[socket.socket]:
    """A socket for each address of the host, all with one port."""
    opened: list[socket.socket] = []
    try:
        for family, _, _, _, place in dict.fromkeys(
            socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        ):
            # With its protocol told, asyncio lets small answers leave at once: otherwise each waits some 40 ms for the
            # client's word on the one before.
            listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
            opened.append(listening)
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind((place[0], port or opened[0].getsockname()[1], *place[2:]))
            listening.listen(1024)
    except OSError:
        for each in opened:
            each.close()
        raise
    return opened


def _spelled(name: tuple[Any, ...]) -> str:
    """An address as gRPC spells it."""
    host, port = name[:2]
    return f"ipv6:%5B{host}%5D:{port}" if ":" in host else f"ipv4:{host}:{port}"
