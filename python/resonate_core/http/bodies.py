"""Answers over HTTP, read within bounds: a server chooses what it sends, so that its client decides how much of it is kept."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from .._foreign_text import clean
from ..errors import NoEnvelope

if TYPE_CHECKING:
    import httpx

__all__ = ["MOST_BYTES", "Answer", "is_stream", "lines", "lines_async", "read", "read_async"]

#: The most bytes of one answer, as they arrive and decoded, unless a client is made with another limit (`answer_bytes`).
MOST_BYTES = 67_108_864
_SHOWN = 200  # characters of an answer that an error quotes
#: Of zlib: with a header of gzip, of zlib, and without any, which some servers send as deflate.
_GZIP, _ZLIB, _BARE = 16 + zlib.MAX_WBITS, zlib.MAX_WBITS, -zlib.MAX_WBITS


class Answer(NamedTuple):
    """A whole answer.

    Attributes:
        status_code: The status of HTTP.
        reason: The reason phrase, without control characters.
        headers: Its headers.
        content: The decoded body.
    """

    status_code: int
    reason: str
    headers: Mapping[str, str]
    content: bytes

    @property
    def text(self) -> str:
        """The body as text; bytes that are no UTF-8 are replaced."""
        return self.content.decode("utf-8", "replace")

    @property
    def first_line(self) -> str:
        """The beginning of the first line that is not empty, for an error."""
        found = self.content[: 8 * _SHOWN].decode("utf-8", "replace").strip().splitlines()
        return clean(found[0][:_SHOWN]) if found else ""


class _Decoder:
    """Decodes the parts of one body, and counts them.

    Args:
        name: Of the server, for errors.
        response: Its head.
        most: The most bytes, encoded and decoded.

    Raises:
        NoEnvelope: The encoding is not one that was accepted.
    """

    def __init__(self, name: str, response: httpx.Response, most: int) -> None:
        self._name, self._status, self._most = name, response.status_code, most
        self._arrived = 0
        self._made = bytearray()
        coding = response.headers.get("content-encoding", "").strip().lower()
        self._coding = coding.removeprefix("x-")
        self._zlib: zlib._Decompress | None = None
        if self._coding == "gzip":
            self._zlib = zlib.decompressobj(_GZIP)
        elif self._coding not in ("", "identity", "deflate"):
            raise self._unusable(f"its content-encoding is {clean(coding[:_SHOWN])!r}, which was not accepted")

    def add(self, part: bytes) -> None:
        """Decode a part.

        Raises:
            NoEnvelope: It is too much, or not encoded as the header says.
        """
        self._arrived += len(part)
        if self._arrived > self._most:
            raise self._too_much()
        if self._coding == "deflate" and self._zlib is None and part:
            self._zlib = zlib.decompressobj(_ZLIB if part[0] & 0x0F == 8 else _BARE)
        self._made += part if self._zlib is None else self._decoded(self._zlib, part)
        if len(self._made) > self._most:
            raise self._too_much()

    def _decoded(self, decompressor: zlib._Decompress, part: bytes) -> bytes:
        try:
            made = decompressor.decompress(part, self._most - len(self._made) + 1)
        except zlib.error as error:
            raise self._unusable(f"its body is not {self._coding}: {error}") from error
        if decompressor.unused_data:
            raise self._unusable(f"bytes follow the end of its {self._coding}")
        return made

    def whole(self) -> bytes:
        """Return the decoded body.

        Raises:
            NoEnvelope: It ends too early.
        """
        if self._zlib is not None and not self._zlib.eof:
            raise self._unusable(f"its {self._coding} has no end")
        return bytes(self._made)

    def _too_much(self) -> NoEnvelope:
        made = self._unusable(
            f"its answer has more than {self._most} bytes (answer_bytes); a smaller limit of a search makes pages smaller"
        )
        made.too_long = True
        return made

    def _unusable(self, why: str) -> NoEnvelope:
        return NoEnvelope(f"{self._name} answered {self._status}: {why}", self._status)


def read(name: str, response: httpx.Response, most: int) -> Answer:
    """Read a whole answer.

    Args:
        name: Of the server, for errors.
        response: An open response.
        most: The most bytes, as they arrive and decoded.

    Raises:
        NoEnvelope: It has more, or cannot be decoded.
    """
    decoder = _Decoder(name, response, most)
    for part in response.iter_raw():
        decoder.add(part)
    return _answer(response, decoder.whole())


async def read_async(name: str, response: httpx.Response, most: int) -> Answer:
    """Read a whole answer; see `read`."""
    decoder = _Decoder(name, response, most)
    async for part in response.aiter_raw():
        decoder.add(part)
    return _answer(response, decoder.whole())


def _answer(response: httpx.Response, content: bytes) -> Answer:
    return Answer(response.status_code, clean(response.reason_phrase[:_SHOWN]), response.headers, content)


class _Lines:
    """Splits a stream of events into lines.

    Args:
        name: Of the server, for errors.
        most: The most bytes of a line.
    """

    def __init__(self, name: str, most: int) -> None:
        self._name, self._most = name, most
        self._kept = bytearray()

    def add(self, part: bytes) -> Iterator[str]:
        """Yield the lines that a part ends.

        Raises:
            NoEnvelope: A line is too long, or no UTF-8.
        """
        ended = part.rfind(b"\n") + 1
        if len(self._kept) + (part.find(b"\n") if ended else len(part)) > self._most:
            raise NoEnvelope(f"{self._name} sent a line of more than {self._most} bytes (answer_bytes) in a stream")
        if not ended:
            self._kept += part
            return
        whole = bytes(self._kept) + part[:ended]
        self._kept = bytearray(part[ended:])
        for line in whole.split(b"\n")[:-1]:
            try:
                yield line.rstrip(b"\r").decode()
            except UnicodeDecodeError as error:
                raise NoEnvelope(f"{self._name} sent a line that is not UTF-8 in a stream") from error


def is_stream(response: httpx.Response) -> bool:
    """Whether a response is a stream of events, without an encoding."""
    return (
        response.status_code == 200
        and response.headers.get("content-type", "").startswith("text/event-stream")
        and response.headers.get("content-encoding", "identity").lower() == "identity"
    )


def lines(name: str, parts: Iterable[bytes], most: int) -> Iterator[str]:
    r"""Yield the lines of a stream of events; "" after each part without the end of one, so that its reader can look at the time.

    Args:
        name: Of the server, for errors.
        parts: As they arrive.
        most: The most bytes of a line.

    Raises:
        NoEnvelope: A line is longer, or no UTF-8.

    Example:
        >>> from resonate_core.http.bodies import lines
        >>> list(lines("a server", [b"data: 1", b"\r\ndata: 2\n"], 100))
        ['', 'data: 1', 'data: 2']
    """
    found = _Lines(name, most)
    for part in parts:
        if b"\n" not in part:
            yield ""
        yield from found.add(part)


async def lines_async(name: str, parts: AsyncIterable[bytes], most: int) -> AsyncIterator[str]:
    """Yield the lines of a stream of events; see `lines`."""
    found = _Lines(name, most)
    async for part in parts:
        for line in found.add(part):
            yield line
