"""The settings of a server. Arguments override the environment, and the environment overrides the TOML file.

Each table of the file is a class here, and each key a field: ``[server] port = 8001`` is ``RESONATE_SERVER__PORT=8001`` in
the environment and ``--port 8001`` on the command line. Durations are in seconds unless the name says ``_ms``.
"""

from __future__ import annotations

import os
import secrets
import sys
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict, TomlConfigSettingsSource

from ..base.files import read_setting, refuse_irregular

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # which pydantic-settings needs for its files

__all__ = [
    "AuthSettings",
    "DeliverySettings",
    "LimitSettings",
    "LogSettings",
    "PushSettings",
    "ServerSettings",
    "Settings",
    "StoreSettings",
    "StreamSettings",
    "UiSettings",
]

#: In a line of the file: the time of tomllib grows with the square of the parts of a key.
_MOST_DOTS = 1000
#: Milliseconds, on the wire and in the store.
_LONGEST = 2**63 - 1

Network = IPv4Network | IPv6Network
Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]


def _listed(given: Any) -> Any:
    """A list may be written as one text, with commas between its members."""
    if isinstance(given, str):
        return [part.strip() for part in given.split(",") if part.strip()]
    return given


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)


class StoreSettings(_Table):
    """Where the state is stored, and its rules; see `resonate_core.Store`."""

    path: str | None = Field(
        default=None,
        description="the SQLite file, or the URL of a PostgreSQL database; none: the store is in memory and ends with the process",
    )
    durability: Literal["full", "normal"] = Field(
        default="full", description="full: each request is synced to the disk before its reply"
    )
    busy_timeout_ms: int = Field(default=5000, ge=0, description="how long to wait while another process writes")
    rules: Literal["compatible", "strict"] = Field(default="compatible", description="compatible: every published client works")
    retry_timeout_ms: int | Literal["ttl"] = Field(
        default=5000, description="time until a delivered message is sent again if its task is still pending; or 'ttl'"
    )
    catchup: Literal["all", "latest", "none"] = Field(
        default="all", description="which missed occurrences of a schedule are made up"
    )
    unblock_retention_ms: int = Field(default=86_400_000, ge=0, description="undelivered unblocks are dropped after this time")

    @field_validator("path", mode="before")
    @classmethod
    def _text_of_path(cls, given: Any) -> Any:
        return os.fspath(given) if isinstance(given, os.PathLike) else given

    def options(self) -> dict[str, Any]:
        """The arguments of `resonate_core.Store` beside its path."""
        return {name.removesuffix("_ms"): getattr(self, name) for name in type(self).model_fields if name != "path"}


class ServerSettings(_Table):
    """The listening socket and the processes behind it."""

    host: str = Field(default="127.0.0.1", description="the address to listen on; 0.0.0.0 for all addresses of the machine")
    port: int = Field(default=8001, ge=0, le=65_535, description="the port to listen on; 0: a free one, which is printed")
    url: str | None = Field(
        default=None,
        description="the URL by which clients call this server: serverUrl of execute messages; none: http(s)://host:port",
    )
    workers: int = Field(default=1, ge=1, le=64, description="number of processes; more than one need a store in a file")
    tls_certificate: Path | None = Field(default=None, description="PEM file of the certificate chain")
    tls_key: Path | None = Field(default=None, description="PEM file of its key")
    root_path: str = Field(default="", description="the path that a proxy strips")
    cors_origins: Annotated[list[str], NoDecode] = Field(
        default=[], description="other origins that a browser may call from; '*' for all; other origins are refused with 403"
    )
    forwarded_allow: Annotated[list[Network], NoDecode] = Field(
        default=[],
        description="addresses and networks of the proxies whose X-Forwarded-For tells the client's address in the audit; none: no proxy",
    )
    hosts: Annotated[list[str], NoDecode] = Field(
        default=[],
        description="accepted names in `Host`, '*' for any, beside the server's own; none: any, except that a loopback address "
        "without a key accepts only names that no foreign web page can have",
    )
    metrics: bool = Field(default=True, description="serve /metrics")
    metrics_open: bool = Field(default=False, description="serve /metrics without a token even if tokens are required")
    ui: bool = Field(default=False, description="serve the dashboard at /ui")
    metrics_queues: int = Field(
        default=100, ge=0, le=1000, description="number of queues with metrics of their own; the others are added up"
    )
    metrics_otel: bool = Field(
        default=False,
        description="export the metrics by OpenTelemetry, too, through the meter provider of the process (extra `otel`)",
    )
    debug: bool = Field(default=False, description="serve debug.* operations (with tokens: to administrators only)")
    tracing: bool = Field(default=False, description="OpenTelemetry spans, one per request (extra `otel`)")
    graceful_timeout: Seconds = Field(default=10, description="how long a stop waits for requests under way")

    _split = field_validator("cors_origins", "hosts", "forwarded_allow", mode="before")(_listed)

    @field_validator("forwarded_allow")
    @classmethod
    def _not_everybody(cls, given: list[Network]) -> list[Network]:
        for network in given:
            if network.prefixlen == 0:
                raise ValueError(f"forwarded_allow must list the proxies, got {network}, which is every address")
        return given

    @model_validator(mode="before")
    @classmethod
    def _serve_runs_uvicorn(cls, given: Any) -> Any:
        if isinstance(given, dict) and "engine" in given:
            raise ValueError(
                f"engine must be left out, got {given['engine']!r}: serve always runs uvicorn. To use granian, hypercorn or gunicorn, "
                "run the app that resonate_core.asgi.create_app makes under it (docs/server.md)"
            )
        return given

    @model_validator(mode="after")
    def _tls_is_whole(self) -> ServerSettings:
        if (self.tls_certificate is None) != (self.tls_key is None):
            raise ValueError("tls_certificate and tls_key must be given together: one of them is missing")
        return self


class AuthSettings(_Table):
    """Bearer tokens (JWT). Without a key no token is required."""

    public_key: Path | None = Field(default=None, description="PEM file of the public key of tokens: RSA, EC or Ed25519")
    secret: SecretStr | None = Field(
        default=None, description="shared secret of HS256 tokens, 32 bytes or more; 48 for HS384, 64 for HS512"
    )
    algorithms: Annotated[list[str], NoDecode] = Field(default=[], description="accepted algorithms; none: all that fit the key")
    issuer: str | None = Field(default=None, description="`iss` that a token must have")
    audience: Annotated[list[str], NoDecode] = Field(default=[], description="one of these must be in `aud`")
    leeway: float = Field(default=60, ge=0, le=3600, description="seconds by which clocks may differ")

    _split = field_validator("algorithms", "audience", mode="before")(_listed)

    @property
    def enabled(self) -> bool:
        """Whether tokens are required."""
        return self.public_key is not None or self.secret is not None

    @model_validator(mode="after")
    def _one_key(self) -> AuthSettings:
        if self.public_key is not None and self.secret is not None:
            raise ValueError("public_key and secret must not both be given: a client could use the public key as the secret")
        if self.secret is not None and len(self.secret.get_secret_value().encode()) < 32:
            raise ValueError("secret must have at least 32 bytes: a shorter one can be guessed")
        if not self.enabled and (self.issuer or self.audience or self.algorithms):
            raise ValueError("issuer, audience and algorithms need public_key or secret")
        return self


class UiSettings(_Table):
    """The dashboard at /ui, which `server.ui` turns on."""

    role: Literal["none", "read", "operate"] | None = Field(
        default=None,
        description="the role of requests if the server requires no tokens; none given: operate on a loopback address, none elsewhere",
    )
    redact_keys: Annotated[list[str], NoDecode] = Field(
        default=[],
        description="members of payloads, results, headers and tags whose values are never shown, for example password, *token*",
    )
    redact_types: Annotated[list[str], NoDecode] = Field(
        default=[], description="types of jobs and functions whose payloads, results and errors are never shown"
    )
    audit_kept: int = Field(
        default=1000, ge=1, le=100_000, description="number of actions that the view of the audit keeps, and of refusals"
    )
    requests: int = Field(default=64, ge=1, description="requests of one tenant to the dashboard at a time; beyond: 429")
    streams: int = Field(default=64, ge=1, description="streams of events of one tenant at a time; beyond: 503")
    recordings: int = Field(
        default=8, ge=1, description="recordings of one tenant that are open; for a newer one, the oldest is closed"
    )
    recording_bytes: int = Field(
        default=536_870_912, ge=1_048_576, description="bytes of memory of the recordings of one tenant; a larger one: 413"
    )
    secret: SecretStr | None = Field(
        default=None,
        min_length=16,
        description="seals the cursors of lists; servers that share a host name share it. none: made anew at each start",
    )

    _split = field_validator("redact_keys", "redact_types", mode="before")(_listed)


class LimitSettings(_Table):
    """Limits of one request, one client and all clients. A request beyond a limit is refused as a whole: 413, 400, 429 or 503."""

    body_bytes: int = Field(default=2_097_152, ge=1024, description="bytes of a request's body")
    header_bytes: int = Field(default=65_536, ge=8192, description="bytes of a request's line and headers; beyond: 431")
    header_timeout: Seconds = Field(
        default=30, description="time for the line and headers to arrive; then the connection is closed"
    )
    id_bytes: int = Field(default=2048, ge=1, description="bytes of an id, a pid, an address, a tag's name")
    tags: int = Field(default=256, ge=1, description="number of tags of a promise, and of headers of a value")
    list_length: int = Field(default=10_000, ge=1, description="number of tasks of a heartbeat, and of actions of a suspend")
    nesting: int = Field(default=64, ge=4, le=1000, description="depth of a request's JSON")
    lease_ms: int = Field(default=86_400_000, ge=1, le=_LONGEST, description="longest lease of a job; a heartbeat renews it")
    ttl_ms: int = Field(
        default=2**53 - 1,
        ge=1,
        le=_LONGEST,
        description="longest lease of a task; published clients ask for 2^50 and 2^53 − 1 when they want no limit",
    )
    delay_ms: int = Field(
        default=315_360_000_000,
        ge=1,
        le=_LONGEST,
        description="longest delay of a job, a first message or a retry; the default is ten years",
    )
    requests_in_flight: int = Field(default=10_000, ge=1, description="requests under way; beyond: 429 and Retry-After")
    connections: int = Field(default=20_000, ge=1, description="open connections, including streams; beyond: 503")
    streams: int = Field(default=10_000, ge=1, description="open poll streams and job streams; beyond: 503")
    streams_of_prefix: int = Field(default=5000, ge=1, description="those of the tokens with one prefix; beyond: 503")


class StreamSettings(_Table):
    """Poll streams: GET /poll/{group}/{id}."""

    lifetime: Seconds = Field(
        default=240, description="a stream ends after this time, so that clients that give up at 300 s reconnect before"
    )
    grace: float = Field(default=5, ge=0, le=600, description="how long messages that prefer an id wait for it to reconnect")
    keepalive: Seconds = Field(default=15, description="a comment is sent after this time without an event")
    buffer: int = Field(default=100, ge=1, description="events that wait for a slow reader; further ones stay in the store")
    acknowledge_after: float = Field(
        default=0.25, ge=0, le=60, description="an event is acknowledged if its stream is still open this much later"
    )


class PushSettings(_Table):
    """Messages to http:// and https:// addresses."""

    enabled: bool = Field(default=True, description="deliver to http and https addresses; if off, their messages wait in the store")
    timeout: Seconds = Field(default=30, description="time limit of one delivery")
    connect_timeout: Seconds = Field(default=10, description="time limit of its connection")
    concurrency: int = Field(default=256, ge=1, description="maximum of deliveries under way; one host has a quarter")
    first_retry: Seconds = Field(
        default=1,
        description="delay in seconds after an address answered with an error, or after a host did not answer, ± 20 %; doubled with "
        "each further failure in a row",
    )
    longest_retry: Seconds = Field(default=300, description="the longest such delay")
    allow: Annotated[list[Network], NoDecode] = Field(
        default=[], description="private networks that may be called, such as 127.0.0.0/8 or 10.1.0.0/16"
    )
    deny: Annotated[list[Network], NoDecode] = Field(default=[], description="public networks that must not be called")
    token: SecretStr | None = Field(default=None, description="sent as a bearer token with each delivery")

    _split = field_validator("allow", "deny", mode="before")(_listed)


class DeliverySettings(_Table):
    """Ticks and the delivery of messages."""

    enabled: bool = Field(
        default=True, description="whether this process ticks and delivers; off if another process on the same file does"
    )
    processes: int = Field(
        default=1,
        ge=1,
        description="number of processes that serve this store; with several, a message waits a moment for the process with the "
        "stream that it prefers",
    )
    lease_ms: int = Field(
        default=10_000,
        ge=1000,
        le=3_600_000,
        description="length of the lease on an unblock that is being delivered; another process delivers it after the death of this "
        "one when the lease has ended",
    )
    foreign_interval_ms: int = Field(
        default=50,
        ge=1,
        le=60_000,
        description="interval at which the log beside the file is checked for commits of other processes; the store is read "
        "only after one",
    )


class LogSettings(_Table):
    """Logs go to standard error."""

    level: Literal["debug", "info", "warning", "error"] = Field(default="info", description="the lowest level that is logged")
    format: Literal["text", "json"] = Field(default="text", description="json: one object per line")
    access: bool = Field(default=False, description="log a line for each HTTP request")


class FileSource(TomlConfigSettingsSource):
    """The configuration file, which is read to a limit."""

    def _read_file(self, file_path: Any) -> dict[str, Any]:
        try:
            text = read_setting(file_path).decode()
        except UnicodeDecodeError as error:
            raise ValueError(f"{file_path}: it is not UTF-8: {error.reason} at byte {error.start}") from None
        if any(line.count(".") > _MOST_DOTS for line in text.splitlines()):
            raise ValueError(f"{file_path}: a line must have at most {_MOST_DOTS} dots")
        try:
            return tomllib.loads(text)
        except RecursionError:
            raise ValueError(f"{file_path}: it is nested too deep") from None
        except ValueError as error:  # or its subclass TOMLDecodeError
            raise ValueError(f"{file_path}: {error}") from error


class Settings(BaseSettings):
    """All of a server's settings.

    Example:
        >>> settings = Settings(server={"port": 9000})
        >>> settings.server.port, settings.store.durability
        (9000, 'full')
    """

    model_config = SettingsConfigDict(
        env_prefix="RESONATE_",
        env_nested_delimiter="__",
        env_ignore_empty=True,
        extra="forbid",
        frozen=True,
        nested_model_default_partial_update=True,
    )
    file: ClassVar[Path | None] = None

    store: StoreSettings = StoreSettings()
    server: ServerSettings = ServerSettings()
    auth: AuthSettings = AuthSettings()
    ui: UiSettings = UiSettings()
    limits: LimitSettings = LimitSettings()
    streams: StreamSettings = StreamSettings()
    push: PushSettings = PushSettings()
    delivery: DeliverySettings = DeliverySettings()
    log: LogSettings = LogSettings()

    @model_validator(mode="after")
    def _several_processes_share_a_file(self) -> Settings:
        if self.server.workers > 1 and self.store.path is None:
            raise ValueError(f"server.workers must be 1 for a store in memory, got {self.server.workers}: give store.path")
        return self

    def of_worker(self) -> Settings:
        """Return the settings of one of `server.workers` processes."""
        processes = max(self.delivery.processes, self.server.workers)
        delivery = self.delivery.model_copy(update={"processes": processes})
        return self.model_copy(update={"delivery": delivery})

    def with_secret(self) -> Settings:
        """The settings with `ui.secret`: the given one, or a new one, which the processes of this server share."""
        if self.ui.secret is not None:
            return self
        secret = SecretStr(secrets.token_urlsafe(32))
        return self.model_copy(update={"ui": self.ui.model_copy(update={"secret": secret})})

    def with_url(self, port: int) -> Settings:
        """The settings with `server.url`: the given one, or that of the listening socket.

        Args:
            port: Where the server listens.
        """
        server = self.server
        if server.url is not None:
            return self
        host = "localhost" if server.host in ("0.0.0.0", "::", "") else server.host
        if ":" in host:
            host = f"[{host}]"
        scheme = "https" if server.tls_certificate else "http"
        url = f"{scheme}://{host}:{port}{server.root_path}"
        return self.model_copy(update={"server": server.model_copy(update={"url": url})})

    @property
    def dashboard_url(self) -> str | None:
        """The address of the dashboard; None if it is not served, or `with_url` has not set the address of the server."""
        url = self.server.url
        return None if url is None or not self.server.ui else f"{url.rstrip('/')}/ui/"

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments, then the environment, then the file; no others."""
        if cls.file is None:
            return init_settings, env_settings
        return init_settings, env_settings, FileSource(settings_cls, toml_file=cls.file)

    @classmethod
    def load(cls, file: Path | None = None, /, **given: dict[str, Any]) -> Settings:
        """Read the settings.

        Args:
            file: A TOML file, which must exist.
            given: Tables by name, which override the environment and the file key by key.

        Raises:
            FileNotFoundError: The file does not exist.
            OSError: It cannot be read, is not a regular file, or is longer than a configuration.
            pydantic.ValidationError: A value breaks its rule, or a key is unknown; it names both. It is a ValueError.
            ValueError: The file is not TOML, or a variable of the environment names an unknown table.
        """
        for name in os.environ:
            table = name.removeprefix("RESONATE_").partition("__")[0].lower()
            if name.startswith("RESONATE_") and "__" in name and table not in cls.model_fields:
                raise ValueError(f"{name} must name a table of settings, got {table!r}; tables: {', '.join(cls.model_fields)}")
        if file is not None and not file.exists():
            raise FileNotFoundError(f"configuration file {str(file)!r} does not exist")
        if file is not None:
            refuse_irregular(file)  # which pydantic would pass over
        source = type("Settings", (cls,), {"file": file, "__doc__": cls.__doc__})
        made: Settings = source(**given)
        # As one of this class, which other processes know too.
        return cls.model_construct(made.model_fields_set, **{name: getattr(made, name) for name in cls.model_fields})
