"""Whole messages over a socket pair: the driver's side never blocks on a worker that stopped half-way."""

from __future__ import annotations

import pickle
import socket
import struct
from typing import Any

_HEAD = struct.Struct("<Q")
_MAX = 2**40


class BrokenChannelError(Exception):
    """The other side is gone, or what it sent is not a message."""


class Channel:
    """Messages between a driver and one of its own worker processes.

    Pickle is used on this private pair of sockets only; nothing of it reaches a file.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._buffer = bytearray()
        self.closed = False

    def fileno(self) -> int:
        """Return the descriptor, for waiting."""
        return self._sock.fileno()

    def send(self, message: Any) -> None:
        """Send one message, waiting as long as it takes."""
        self.send_bytes(pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL))

    def send_bytes(self, body: bytes) -> None:
        """Send an already encoded message."""
        try:
            self._sock.sendall(_HEAD.pack(len(body)) + body)
        except OSError as error:
            raise BrokenChannelError(str(error)) from error

    def receive(self) -> Any:
        """Wait for the one message that the other side sends before it waits itself."""
        while not (messages := self._take()):
            try:
                part = self._sock.recv(1 << 20)
            except OSError as error:
                raise BrokenChannelError(str(error)) from error
            if not part:
                raise BrokenChannelError("end of messages")
            self._buffer += part
        return messages[0]

    def receive_ready(self) -> list[Any]:
        """Return the whole messages that are here, without waiting; sets ``closed`` at the end."""
        while not self.closed:
            try:
                self._sock.setblocking(False)
                part = self._sock.recv(1 << 20)
            except (BlockingIOError, InterruptedError):
                break
            except OSError:
                part = b""
            finally:
                self._sock.setblocking(True)
            if not part:
                self.closed = True
            self._buffer += part
        return self._take()

    def close(self) -> None:
        """Close this side."""
        self.closed = True
        self._sock.close()

    def _take(self) -> list[Any]:
        messages = []
        while len(self._buffer) >= _HEAD.size:
            (size,) = _HEAD.unpack_from(self._buffer)
            if size > _MAX:
                raise BrokenChannelError(f"a message of {size} bytes")
            if len(self._buffer) < _HEAD.size + size:
                break
            body = bytes(self._buffer[_HEAD.size : _HEAD.size + size])
            del self._buffer[: _HEAD.size + size]
            try:
                messages.append(pickle.loads(body))  # noqa: S301 (our own process on a private socket)
            except Exception as error:
                raise BrokenChannelError(f"a message that cannot be read: {type(error).__name__}: {error}") from error
        return messages
