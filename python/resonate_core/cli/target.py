"""The target of a command: a store's file or a server's URL. Both answer the protocol's envelopes, so that most commands work on either."""

from __future__ import annotations

import itertools
import json
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

import resonate_core as rc
from resonate_core._foreign_text import MOST_OF_A_REFUSAL, excerpt
from resonate_core.calls.call import envelope
from resonate_core.cli.exits import CommandFailed, Exit, code_of, is_done
from resonate_core.cli.places import Place, refuse_missing
from resonate_core.cli.show import say
from resonate_core.explain.call_tree import RequestSender
from resonate_core.http.answers import checked, used
from resonate_core.http.server_client import NoEnvelope, Unreachable
from resonate_core.http.surroundings import OddSurroundings

if TYPE_CHECKING:
    from resonate_core.http.bodies import Answer

__all__ = ["DIALECTS", "Access", "Envelope", "FileTarget", "Target", "UrlTarget"]

#: The most bytes of all pages of one search: a command keeps its records until it prints them.
MOST_OF_A_SEARCH = 536_870_912
DIALECTS = ("2026-04-01", "2025-01-15")
Envelope = dict[str, Any]
T = TypeVar("T")


class Access(Enum):
    """What a command does to a file."""

    READ = "reads"
    WRITE = "writes"
    MAKE = "writes, and makes the file where there is none"


class Target(RequestSender, ABC):
    """A store that answers envelopes.

    Args:
        dialect: The version that requests are in.
        token: Sent with each of them.
    """

    def __init__(self, dialect: str = DIALECTS[0], token: str | None = None) -> None:
        self.dialect = dialect
        self._token = token
        self._numbers = itertools.count(1)

    @property
    @abstractmethod
    def name(self) -> str:
        """The file or URL, for people."""

    @abstractmethod
    def exchange(self, requests: Sequence[Envelope]) -> list[Envelope]:
        """Return the replies to several requests, in order, including refusals.

        Raises:
            CommandFailed: It cannot be reached or does not answer in the protocol.
        """

    @abstractmethod
    def close(self) -> None:
        """Closes it."""

    def __enter__(self) -> Target:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def request(self, kind: str, data: dict[str, Any]) -> Envelope:
        """A request with its head."""
        return envelope(kind, data, f"cli-{next(self._numbers)}", self.dialect, self._token)

    def ask(self, kind: str, data: dict[str, Any]) -> tuple[int, Any]:
        """Return status and data of a reply, which may be a refusal."""
        (answer,) = self.exchange([self.request(kind, data)])
        return answer["head"]["status"], answer["data"]

    def ask_all(self, requests: Sequence[tuple[str, dict[str, Any]]]) -> list[tuple[int, Any]]:
        """Return status and data of each reply, in order, refusals included."""
        answers = self.exchange([self.request(kind, data) for kind, data in requests]) if requests else []
        return [(answer["head"]["status"], answer["data"]) for answer in answers]

    def send(self, kind: str, data: dict[str, Any]) -> dict[str, Any]:
        """Return the data of a reply. A tag that looks misspelt is reported on standard error.

        Raises:
            CommandFailed: The request was refused; the exit code tells how.
        """
        request = self.request(kind, data)
        (answer,) = self.exchange([request])
        status, answered = answer["head"]["status"], answer["data"]
        if not is_done(status) or not isinstance(answered, dict):
            raise refusal(status, answered)
        for advice in rc.Envelope(json.dumps(request).encode(), rc.RequestLimits()).advice:
            say(advice)
        return answered


def refusal(status: int, data: Any) -> CommandFailed:
    """Return the failure of a command whose request was refused."""
    return CommandFailed(data if isinstance(data, str) else json.dumps(data), code_of(status), status)


class FileTarget(Target):
    """A store's file or database, used in this process.

    Args:
        place: The path of the file, or the URL of the database.
        access: The access to it; READ and WRITE require that a file exists.
        dialect: The version that requests are in.
        options: Of `resonate_core.Store`.

    Raises:
        CommandFailed: It is missing, or cannot be opened (UNREACHABLE).
    """

    def __init__(self, place: Place, access: Access, dialect: str = DIALECTS[0], **options: Any) -> None:
        super().__init__(dialect)
        self._place = place
        try:
            missing = isinstance(place, Path) and access is not Access.MAKE and not place.exists()
        except OSError as error:  # a folder that may not be looked into
            raise CommandFailed(f"{place}: {error.strerror}", Exit.UNREACHABLE) from error
        if missing:
            refuse_missing(Path(place))
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", rc.errors.ClockWarning)
                self.store = rc.Store(place, read_only=access is Access.READ, **options)
        except rc.ResonateError as error:
            code = Exit.USAGE if isinstance(error, rc.Invalid) else Exit.UNREACHABLE
            raise CommandFailed(str(error), code, error.status) from error
        for warning in caught:
            say(f"warning: {warning.message}")

    @property
    def name(self) -> str:
        """The path as it was given, or the URL without passwords."""
        return str(self.store.url or self._place)

    def exchange(self, requests: Sequence[Envelope]) -> list[Envelope]:
        """Run all of them in one transaction."""
        return self.store.apply(list(requests))

    def close(self) -> None:
        """Closes the store."""
        self.store.close()


class UrlTarget(Target):
    """A server of the protocol.

    Args:
        url: Its address, with the path under which it is mounted.
        dialect: The version that requests are in.
        token: A bearer token, sent in the head of each request and in the Authorization header.
        timeout: How long to wait for one answer, in seconds.

    Raises:
        CommandFailed: The URL or the token is none (USAGE).
    """

    def __init__(self, url: str, dialect: str = DIALECTS[0], token: str | None = None, timeout: float = 30) -> None:
        from resonate_core.http.remote import Remote  # not above: a store in a file needs no asyncio

        super().__init__(dialect, token)
        try:
            self._remote = Remote(url, token, timeout, retry_for=0)
        except OddSurroundings:
            raise
        except rc.Invalid as error:
            raise CommandFailed(f"--{error}", Exit.USAGE) from error  # it begins with the name: url or token

    def another(self) -> UrlTarget:
        """Return a second connection to the same server."""
        server = self._remote.server
        return UrlTarget(server.url, self.dialect, server.token, server.timeout)

    @property
    def name(self) -> str:
        """The URL, without its password."""
        return self._remote.server.name

    def page(self, path: str, parameters: Mapping[str, str], answered: Callable[[Answer, str], T]) -> T:
        """Ask for a view of the server's dashboard, which is not part of the protocol.

        Args:
            path: Below the server's address.
            parameters: Its query.
            answered: Makes the result of the response and of the server's address.

        Raises:
            CommandFailed: There was no answer of a dashboard, or it has refused the request.
        """
        try:
            response = self._remote.server.get(path, parameters)
        except (Unreachable, NoEnvelope) as error:
            raise CommandFailed(error.message, Exit.UNREACHABLE) from error
        try:
            return answered(response, self.name)
        except rc.Unsupported as error:
            raise CommandFailed(error.message, Exit.UNREACHABLE, response.status_code) from error
        except NoEnvelope as error:
            raise CommandFailed(error.message, Exit.UNREACHABLE) from error
        except rc.ResonateError as error:
            raise CommandFailed(error.message, code_of(error.status), error.status) from error

    def exchange(self, requests: Sequence[Envelope]) -> list[Envelope]:
        """Send requests as a client does, each once; judge the data of each reply."""
        try:
            replies = self._remote.exchange(requests)
            return [self._judged(request, reply) for request, reply in zip(requests, replies, strict=True)]
        except Unreachable as error:
            raise CommandFailed(error.message, Exit.UNREACHABLE, error.answered) from error
        except NoEnvelope as error:
            raise CommandFailed(error.message, Exit.UNREACHABLE) from error
        except rc.ResonateError as error:
            raise refusal(error.status, error.message) from error

    def _judged(self, request: Envelope, reply: Envelope) -> Envelope:
        """Return a reply as it is, if commands can use it.

        Raises:
            NoEnvelope: They cannot.
        """
        if is_done(reply["head"]["status"]):
            used(self.name, request["kind"], lambda data: checked(request, data), reply["data"])
            return reply
        data = reply["data"]
        return {**reply, "data": excerpt(data, MOST_OF_A_REFUSAL) if not isinstance(data, str) else data[:MOST_OF_A_REFUSAL]}

    def pages(self, kind: str, member: str, data: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield every record that a search finds, page after page.

        Raises:
            CommandFailed: The pages have no end, or more than `MOST_OF_A_SEARCH` bytes together (UNREACHABLE).
        """
        server = self._remote.server
        begin = server.received
        try:
            for record in super().pages(kind, member, data):
                if server.received - begin > MOST_OF_A_SEARCH:
                    what = f"the pages of {kind} have more than {MOST_OF_A_SEARCH} bytes together"
                    raise CommandFailed(f"{self.name}: {what}; give --limit and --cursor, without --all", Exit.UNREACHABLE)
                yield record
        except NoEnvelope as error:
            raise CommandFailed(f"{self.name}: {error.message}", Exit.UNREACHABLE) from error

    def close(self) -> None:
        """Ends its connections."""
        self._remote.server.close()
