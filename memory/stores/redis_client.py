"""A connection to a Redis server that tries again, and that keeps its secrets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from memory.stores.journal import JournalUnavailable

if TYPE_CHECKING:
    from redis.commands.core import Script

_SCHEMES = ("redis", "rediss", "unix")
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.02, 1.0
_Result = TypeVar("_Result")


class RedisClient:
    """A client of the server at ``url``, whose calls are sent again while it is away.

    Args:
        url: Address of the server, with redis-py's options.
        timeout_seconds: How long to wait for a connection and for a reply.
        retries: How often a call is sent again.

    Attributes:
        address: The address without user, password and options, for messages.

    Raises:
        ModuleNotFoundError: redis-py is not installed.
        TypeError: ``url`` is not a string.
        ValueError: ``url`` is no address of a server.
    """

    def __init__(
        self, url: str, timeout_seconds: float = 10.0, retries: int = 12
    ) -> None:
        self.address = _address(url)
        try:
            # Not every user has a server: redis-py is an extra.
            import redis
            from redis.backoff import ExponentialBackoff, NoBackoff
            from redis.retry import Retry
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                "a journal on Redis needs redis-py: pip install 'boltzmem[redis]'",
                name="redis",
            ) from error
        self._errors = redis.RedisError
        self._refused = redis.AuthenticationError
        self._retry = Retry(
            ExponentialBackoff(
                cap=_LONGEST_PAUSE_SECONDS, base=_FIRST_PAUSE_SECONDS / 2
            ),
            retries,
        )
        try:
            self._client = redis.Redis.from_url(
                url,
                socket_timeout=timeout_seconds,
                socket_connect_timeout=timeout_seconds,
                # Its own retries are nested, connection within call: n squared of them.
                retry=Retry(NoBackoff(), 0),
                # Its default differs between releases of redis-py.
                protocol=2,
            )
        except (ValueError, TypeError):
            # What redis-py says of a bad address may quote it, password and all.
            raise ValueError(
                "url must be an address that redis-py reads, got one that it refuses; "
                "write special characters of a password as %40"
            ) from None
        # Ours are bytes, whatever the address says.
        self._client.connection_pool.connection_kwargs["decode_responses"] = False

    def __repr__(self) -> str:
        return f"RedisClient({self.address!r})"

    def script(self, text: str) -> Script:
        """Returns ``text`` as a script that is sent once and called by its hash."""
        return self._client.register_script(text)

    def run(
        self, script: Script, keys: list[str], arguments: Sequence[str | bytes | int]
    ) -> Any:  # noqa: ANN401 - a reply is what the script makes it
        """Returns the reply of ``script``.

        Raises:
            JournalUnavailable: The server cannot be reached or refuses.
        """
        return self._answered(lambda: script(keys, arguments))

    def call(self, command: str, *arguments: str) -> Any:  # noqa: ANN401
        """Returns the reply of ``command``.

        Raises:
            JournalUnavailable: The server cannot be reached or refuses.
        """
        send: Callable[..., Any] = self._client.execute_command
        return self._answered(lambda: send(command, *arguments))

    def together(
        self,
        script: Script,
        keys: list[str],
        arguments: Sequence[str | bytes | int],
        *commands: tuple[str, ...],
    ) -> list[Any]:
        """Returns the replies of ``script`` and of ``commands``, with nothing in between.

        Raises:
            JournalUnavailable: The server cannot be reached or refuses.
        """

        def send() -> list[Any]:
            with self._client.pipeline(transaction=True) as pipeline:
                script(keys, arguments, client=pipeline)
                queue: Callable[..., Any] = pipeline.execute_command
                for command in commands:
                    queue(*command)
                return pipeline.execute()

        return self._answered(send)

    def keys(self, pattern: str) -> list[bytes]:
        """Returns the keys that match ``pattern``, looked for without blocking others.

        Raises:
            JournalUnavailable: The server cannot be reached or refuses.
        """
        return self._answered(
            lambda: list(dict.fromkeys(self._client.scan_iter(pattern, count=1_000)))
        )

    def close(self) -> None:
        """Closes the connections; a later call opens new ones."""
        self._client.close()

    def _answered(self, call: Callable[[], _Result]) -> _Result:
        def attempt() -> _Result:
            try:
                return call()
            except self._refused as error:
                # It would be refused again.
                raise JournalUnavailable(f"{self.address}: {error}") from error

        try:
            return self._retry.call_with_retry(attempt, lambda _: None)
        except self._errors as error:
            raise JournalUnavailable(f"{self.address}: {error}") from error


def _address(url: object) -> str:
    """Returns ``url`` without what may be secret: user, password and options."""
    if not isinstance(url, str):
        raise TypeError(f"url must be a string, got a {type(url).__name__}")
    scheme, _, _ = url.partition("://")
    if scheme not in _SCHEMES:
        raise ValueError("url must begin with redis://, rediss:// or unix://")
    try:
        parts = urlsplit(url)
    except ValueError:
        raise ValueError("url must be an address, got one without sense") from None
    if "@" in parts.path + parts.query + parts.fragment:
        # The rest of a password that holds a slash would be taken for a host.
        raise ValueError(
            "url must hold no @ behind its host: write %40, and %2F for a slash and "
            "%23 for a # in a password"
        )
    return f"{scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
