"""What a server may be told: by arguments, by the environment, by a TOML file, in that order of strength.

Each table of the file is a class here, and each key a field: ``[server] port = 8001`` is ``RESONATE_SERVER__PORT=8001`` in
the environment and ``--port 8001`` on the command line. Durations are in seconds unless the name says ``_ms``.
"""

from __future__ import annotations

import os
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict, TomlConfigSettingsSource

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
]

#: Milliseconds, on the wire and in the store.
_LONGEST = 2**63 - 1

Network = IPv4Network | IPv6Network
Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]


def _listed(given: Any) -> Any:
    """A list may be written as one text, its members apart by commas."""
    if isinstance(given, str):
        return [part.strip() for part in given.split(",") if part.strip()]
    return given


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)


class StoreSettings(_Table):
    """Where the state lives, and its rules; see `resonate_core.Store`."""

    path: Path | None = Field(default=None, description="the SQLite file; none: in memory, and gone with the process")
    durability: Literal["full", "normal"] = Field(default="full", description="full: each answer has been synced to the disk")
    busy_timeout_ms: int = Field(default=5000, ge=0, description="how long to wait for another process that writes to the file")
    rules: Literal["compatible", "strict"] = Field(default="compatible", description="compatible: every published client works")
    retry_timeout_ms: int | Literal["ttl"] = Field(
        default=5000, description="until a message that was taken, and whose task is still pending, is sent again; or 'ttl'"
    )
    catchup: Literal["all", "latest", "none"] = Field(
        default="all", description="which missed occurrences of a schedule are made up"
    )
    unblock_retention_ms: int = Field(default=86_400_000, ge=0, description="unblocks that nobody takes are dropped after this")


class ServerSettings(_Table):
    """The listening socket, and who listens on it."""

    host: str = Field(default="127.0.0.1", description="the address to listen on; 0.0.0.0 for all of the machine's")
    port: int = Field(default=8001, ge=0, le=65_535, description="the port to listen on; 0: a free one, which is printed")
    url: str | None = Field(
        default=None, description="what clients call this server: serverUrl of execute messages; none: http(s)://host:port"
    )
    engine: Literal["uvicorn", "granian"] = Field(default="uvicorn", description="the HTTP server that carries the app")
    workers: int = Field(default=1, ge=1, le=64, description="processes; more than one needs a file that they share")
    tls_certificate: Path | None = Field(default=None, description="PEM file of the certificate chain")
    tls_key: Path | None = Field(default=None, description="PEM file of its key")
    root_path: str = Field(default="", description="the path that a proxy in front strips")
    cors_origins: Annotated[list[str], NoDecode] = Field(
        default=[], description="other origins that a browser may call from; '*' for all; calls from the rest are refused with 403"
    )
    hosts: Annotated[list[str], NoDecode] = Field(
        default=[],
        description="names in `Host` that are meant, '*' for any, beside the server's own; none: any, but on a loopback address "
        "without a key only names that no web page of others can have",
    )
    metrics: bool = Field(default=True, description="serve /metrics")
    metrics_open: bool = Field(default=False, description="serve /metrics without a token even where tokens are asked for")
    debug: bool = Field(default=False, description="serve debug.* operations (with tokens: to administrators only)")
    tracing: bool = Field(default=False, description="OpenTelemetry spans, one a request (extra `otel`)")
    graceful_timeout: Seconds = Field(default=10, description="how long a stop waits for requests under way")

    _split = field_validator("cors_origins", "hosts", mode="before")(_listed)

    @model_validator(mode="after")
    def _tls_is_whole(self) -> ServerSettings:
        if (self.tls_certificate is None) != (self.tls_key is None):
            raise ValueError("tls_certificate and tls_key go together: one of them is missing")
        return self


class AuthSettings(_Table):
    """Bearer tokens (JWT). Without a key nobody is asked for one."""

    public_key: Path | None = Field(default=None, description="PEM file of the key that tokens are signed with: RSA, EC or Ed25519")
    secret: SecretStr | None = Field(
        default=None, description="shared secret of HS256 tokens, 32 bytes or more; 48 for HS384, 64 for HS512"
    )
    algorithms: Annotated[list[str], NoDecode] = Field(
        default=[], description="accepted algorithms; none named: all that fit the key"
    )
    issuer: str | None = Field(default=None, description="`iss` that a token must have")
    audience: Annotated[list[str], NoDecode] = Field(default=[], description="one of these must be in `aud`")
    leeway: float = Field(default=60, ge=0, le=3600, description="seconds by which clocks may differ")

    _split = field_validator("algorithms", "audience", mode="before")(_listed)

    @property
    def enabled(self) -> bool:
        """Whether tokens are asked for."""
        return self.public_key is not None or self.secret is not None

    @model_validator(mode="after")
    def _one_key(self) -> AuthSettings:
        if self.public_key is not None and self.secret is not None:
            raise ValueError("public_key and secret exclude each other: whoever takes both can be shown the public key as a secret")
        if self.secret is not None and len(self.secret.get_secret_value().encode()) < 32:
            raise ValueError("secret is shorter than 32 bytes: it can be guessed")
        if not self.enabled and (self.issuer or self.audience or self.algorithms):
            raise ValueError("issuer, audience and algorithms mean nothing without public_key or secret")
        return self


class LimitSettings(_Table):
    """What one request, one client and all of them may take. What is beyond is refused whole: 413, 400, 429 or 503."""

    body_bytes: int = Field(default=2_097_152, ge=1024, description="of a request")
    header_bytes: int = Field(default=65_536, ge=8192, description="of a request's line and headers; more are answered with 431")
    header_timeout: Seconds = Field(default=30, description="how long they are waited for; then the connection is closed")
    id_bytes: int = Field(default=2048, ge=1, description="of an id, a pid, an address, a tag's name")
    tags: int = Field(default=256, ge=1, description="tags of a promise, headers of a value")
    list_length: int = Field(default=10_000, ge=1, description="tasks of a heartbeat, actions of a suspend")
    nesting: int = Field(default=64, ge=4, le=1000, description="of the JSON of a request")
    lease_ms: int = Field(
        default=86_400_000, ge=1, le=_LONGEST, description="for which a job may be claimed or started; a heartbeat renews it"
    )
    ttl_ms: int = Field(
        default=2**53 - 1,
        ge=1,
        le=_LONGEST,
        description="for which a task may be acquired; published clients that want no end ask for 2^50 and for 2^53 − 1",
    )
    delay_ms: int = Field(
        default=315_360_000_000,
        ge=1,
        le=_LONGEST,
        description="that a job, a first message or a next attempt may lie ahead; the default is ten years",
    )
    requests_in_flight: int = Field(default=10_000, ge=1, description="more are answered with 429 and Retry-After")
    connections: int = Field(default=20_000, ge=1, description="open connections, streams among them; more are answered with 503")
    streams: int = Field(default=10_000, ge=1, description="open poll streams; more are answered with 503")


class StreamSettings(_Table):
    """Poll streams: GET /poll/{group}/{id}."""

    lifetime: Seconds = Field(
        default=240, description="a stream ends after this, so that clients which give up at 300 s reconnect in time"
    )
    grace: float = Field(default=5, ge=0, le=600, description="how long messages that prefer an id wait for it to come back")
    keepalive: Seconds = Field(default=15, description="a comment is sent after this much silence")
    buffer: int = Field(default=100, ge=1, description="events that wait for a slow reader; more stay in the store")
    acknowledge_after: float = Field(
        default=0.25, ge=0, le=60, description="an event counts as delivered if its stream is open this much later"
    )


class PushSettings(_Table):
    """Messages to http:// and https:// addresses."""

    enabled: bool = Field(default=True, description="deliver to http and https addresses; else their messages wait in the store")
    timeout: Seconds = Field(default=30, description="for the whole of one delivery")
    connect_timeout: Seconds = Field(default=10, description="for its connection")
    concurrency: int = Field(default=256, ge=1, description="deliveries under way at once")
    first_retry: Seconds = Field(
        default=1,
        description="seconds for which an address that took no message is left alone, a fifth more or less; doubled with each further "
        "failure in a row",
    )
    longest_retry: Seconds = Field(default=300, description="but never for longer than this")
    allow: Annotated[list[Network], NoDecode] = Field(
        default=[], description="networks that may be called although they are not public, such as 127.0.0.0/8 or 10.1.0.0/16"
    )
    deny: Annotated[list[Network], NoDecode] = Field(
        default=[], description="networks that may not be called although they are public"
    )
    token: SecretStr | None = Field(default=None, description="sent as a bearer token with each delivery")

    _split = field_validator("allow", "deny", mode="before")(_listed)


class DeliverySettings(_Table):
    """How messages leave the store."""

    enabled: bool = Field(
        default=True, description="whether this process ticks and delivers at all; one that shares a file need not"
    )
    part: int = Field(default=0, ge=0, description="of several processes on one file, each pushes the messages of its part")
    parts: int = Field(default=1, ge=1, description="how many there are")
    foreign_interval_ms: int = Field(
        default=50, ge=1, le=60_000, description="how often to look for what other processes wrote to the file"
    )


class LogSettings(_Table):
    """Logs go to standard error."""

    level: Literal["debug", "info", "warning", "error"] = Field(default="info", description="the least that is logged")
    format: Literal["text", "json"] = Field(default="text", description="json: one object a line")
    access: bool = Field(default=False, description="a line for each HTTP request")


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
    limits: LimitSettings = LimitSettings()
    streams: StreamSettings = StreamSettings()
    push: PushSettings = PushSettings()
    delivery: DeliverySettings = DeliverySettings()
    log: LogSettings = LogSettings()

    @model_validator(mode="after")
    def _several_processes_share_a_file(self) -> Settings:
        if self.server.workers > 1 and self.store.path is None:
            raise ValueError(f"{self.server.workers} workers need a store that they share: give store.path")
        return self

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
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls, toml_file=cls.file)

    @classmethod
    def load(cls, file: Path | None = None, /, **given: dict[str, Any]) -> Settings:
        """Reads them.

        Args:
            file: A TOML file, which has to be there.
            given: Tables, by name, that beat the environment and the file key by key.

        Raises:
            FileNotFoundError: There is no such file.
            tomllib.TOMLDecodeError: It is not TOML.
            pydantic.ValidationError: A value breaks its rule, or a key is unknown; it names both. It is a ValueError.
            ValueError: A variable of the environment names no table.
        """
        for name in os.environ:
            table = name.removeprefix("RESONATE_").partition("__")[0].lower()
            if name.startswith("RESONATE_") and "__" in name and table not in cls.model_fields:
                raise ValueError(f"{name}: there is no table {table!r} of settings; there are {', '.join(cls.model_fields)}")
        if file is not None and not file.is_file():
            raise FileNotFoundError(f"there is no configuration file {str(file)!r}")
        source = type("Settings", (cls,), {"file": file, "__doc__": cls.__doc__})
        made: Settings = source(**given)
        # As one of this class, which other processes know too.
        return cls.model_construct(made.model_fields_set, **{name: getattr(made, name) for name in cls.model_fields})
