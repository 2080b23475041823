"""Frames of HTTP/2 (RFC 9113) made by hand: calls that no gRPC client makes, such as ones never sent whole."""

import socket
import ssl
import struct
from collections.abc import Iterator, Mapping
from contextlib import suppress
from enum import IntEnum
from typing import Self

GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
"""The first bytes of every client."""

LARGEST_FRAME = 16384
USUAL_WINDOW = 65535

_ACKNOWLEDGED, _END_STREAM, _END_HEADERS = 1, 1, 4
_INITIAL_WINDOW = 4


class Kind(IntEnum):
    """The kinds of frames."""

    DATA = 0
    HEADERS = 1
    RST_STREAM = 3
    SETTINGS = 4
    PING = 6
    GOAWAY = 7
    WINDOW_UPDATE = 8


def frame(kind: int, flags: int = 0, stream: int = 0, content: bytes = b"") -> bytes:
    """A frame."""
    return struct.pack(">I", len(content))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + content


class Connection:
    """A connection whose client sends as much of each request as the server's windows allow.

    `pump` sends and receives what can be at once; nothing waits for the server but the opening. A stream is gone when
    the server has ended it.
    """

    def __init__(
        self, address: str, token: str | None = None, tls: ssl.SSLContext | None = None, *, takes: int = USUAL_WINDOW
    ) -> None:
        """`takes` is how much of each answer the server may send."""
        host, port = address.rsplit(":", 1)
        plain = socket.create_connection((host.strip("[]"), int(port)), 30)
        self.socket = plain if tls is None else tls.wrap_socket(plain, server_hostname="localhost")
        self._token = token
        self._host = address
        self._stream_window, self._window = USUAL_WINDOW, USUAL_WINDOW
        self._left: dict[int, int] = {}
        self._windows: dict[int, int] = {}
        self._received = b""
        self._next = 1
        self.sent = 0
        self.closed = False
        self.socket.sendall(GREETING + frame(Kind.SETTINGS, content=struct.pack(">HI", _INITIAL_WINDOW, takes)))
        self.socket.setblocking(False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    @property
    def open(self) -> int:
        """The streams that the server has not ended."""
        return len(self._windows)

    def call(self, method: str, announced: int, most: int | None = None, head: Mapping[str, str] | None = None) -> int:
        """Begins a call whose message is announced with so many bytes, of which at most all but one are sent."""
        stream, self._next = self._next, self._next + 2
        headers = {
            **{":method": "POST", ":scheme": "http", ":path": method, ":authority": self._host},
            **{"content-type": "application/grpc", "te": "trailers"},
            **({"authorization": f"Bearer {self._token}"} if self._token else {}),
            **(head or {}),
        }
        self._send(frame(Kind.HEADERS, _END_HEADERS, stream, b"".join(_literals(headers))))
        self._windows[stream] = self._stream_window
        self._left[stream] = max(announced - 1, 0) if most is None else most
        self.send_data(stream, b"\0" + struct.pack(">I", announced))
        return stream

    def send_data(self, stream: int, content: bytes, *, ends: bool = False) -> None:
        """Sends data as it is, whatever the windows."""
        self._send(frame(Kind.DATA, _END_STREAM if ends else 0, stream, content))
        self._window -= len(content)
        if stream in self._windows:
            self._windows[stream] -= len(content)

    def reset(self, stream: int) -> None:
        """Abandons a call."""
        self._send(frame(Kind.RST_STREAM, 0, stream, struct.pack(">I", 8)))
        self._forget(stream)

    def abandon(self) -> None:
        """Closes the connection with all its calls."""
        self.closed = True
        self.socket.close()

    def pump(self) -> int:
        """Sends what the windows allow, takes what has come, and returns the bytes sent."""
        if self.closed:
            return 0
        before = self.sent
        for stream in list(self._left):
            while (size := min(self._left[stream], self._windows[stream], self._window, LARGEST_FRAME)) > 0:
                if not self._send(frame(Kind.DATA, 0, stream, bytes(size))):
                    break
                self._left[stream] -= size
                self._windows[stream] -= size
                self._window -= size
                self.sent += size
        self._receive()
        return self.sent - before

    def _send(self, content: bytes) -> bool:
        if self.closed:
            return False
        try:
            # A frame is sent whole, or the connection is of no use any more.
            self.socket.settimeout(10)
            self.socket.sendall(content)
        except OSError:
            self.closed = True
        finally:
            with suppress(OSError):
                self.socket.setblocking(False)
        return not self.closed

    def _receive(self) -> None:
        try:
            while piece := self.socket.recv(2**16):
                self._received += piece
            self.closed = True
        except (BlockingIOError, ssl.SSLWantReadError):
            pass
        except OSError:
            self.closed = True
        for kind, flags, stream, content in self._frames():
            match kind:
                case Kind.SETTINGS if not flags & _ACKNOWLEDGED:
                    self._set(content)
                    self._send(frame(Kind.SETTINGS, _ACKNOWLEDGED))
                case Kind.PING if not flags & _ACKNOWLEDGED:
                    self._send(frame(Kind.PING, _ACKNOWLEDGED, 0, content))
                case Kind.WINDOW_UPDATE:
                    (more,) = struct.unpack(">I", content)
                    if not stream:
                        self._window += more
                    elif stream in self._windows:
                        self._windows[stream] += more
                case Kind.RST_STREAM:
                    self._forget(stream)
                case Kind.HEADERS | Kind.DATA if flags & _END_STREAM:
                    self._forget(stream)

    def _frames(self) -> Iterator[tuple[int, int, int, bytes]]:
        while len(self._received) >= 9:
            length = int.from_bytes(self._received[:3], "big")
            if len(self._received) < 9 + length:
                return
            kind, flags, stream = struct.unpack(">BBI", self._received[3:9])
            content, self._received = self._received[9 : 9 + length], self._received[9 + length :]
            yield kind, flags, stream, content

    def _set(self, content: bytes) -> None:
        for name, value in struct.iter_unpack(">HI", content):
            if name == _INITIAL_WINDOW:
                for stream in self._windows:
                    self._windows[stream] += value - self._stream_window
                self._stream_window = value

    def _forget(self, stream: int) -> None:
        self._left.pop(stream, None)
        self._windows.pop(stream, None)


def _literals(headers: Mapping[str, str]) -> Iterator[bytes]:
    """The headers as literals of HPACK (RFC 7541, 6.2.2): without indexing, without Huffman's code."""
    for name, value in headers.items():
        yield b"\0" + _string(name) + _string(value)


def _string(text: str) -> bytes:
    content = text.encode()
    return _number(len(content)) + content


def _number(number: int) -> bytes:
    """A number in seven bits or more (RFC 7541, 5.1)."""
    if number < 127:
        return bytes([number])
    number, digits = number - 127, bytearray([127])
    while number >= 128:
        digits.append(number % 128 + 128)
        number //= 128
    return bytes([*digits, number])
