"""What only a server can suffer: it dies, forgets, evicts, and has a password."""

from __future__ import annotations

import sys
import threading
import time
import traceback

import pytest
import redis

from memory.stores.in_memory import InMemoryJournal
from memory.stores.journal import (
    Entry,
    Journal,
    JournalRewound,
    JournalUnavailable,
    JournalUnreadable,
)
from memory.stores.redis import RedisJournal
from tests import servers
from tests.contracts.test_journal import forgetting


def seconds(start: float) -> float:
    return time.monotonic() - start


def round_trips(client: redis.Redis) -> int:
    """Returns how often the server has read from its clients, this once included."""
    found: int = client.info("stats")["total_reads_processed"]
    return found


def test_every_call_is_one_round_trip(server: servers.Server) -> None:
    with (
        redis.Redis.from_url(server.url) as client,
        RedisJournal(server.url) as journal,
    ):
        # Scripts are sent to the server once in its life.
        journal.append_and_read("k", b"row", b"body", 0)
        journal.read(0)
        journal.fetch(["k"])
        before = round_trips(client)
        for k in range(50):
            journal.append_and_read(f"k{k}", b"row", b"body", k)
        assert round_trips(client) - before == 50 + 1
        before = round_trips(client)
        journal.append("other", b"row", b"body")
        journal.read(3)
        journal.fetch([f"k{k}" for k in range(50)])
        assert round_trips(client) - before == 3 + 1


def test_a_server_that_kept_everything_is_taken_up_again(
    durable: servers.Server,
) -> None:
    with RedisJournal(durable.url) as journal:
        for k in range(100):
            journal.append(f"k{k}", b"row %d" % k, b"body")
        assert len(journal.read(0)) == 100
        durable.kill()
        later = threading.Timer(0.3, durable.start)
        later.start()
        assert journal.append("after", b"row", b"")
        later.join()
        assert journal.read(100) == [Entry(101, b"row")]
        assert journal.fetch(["k99", "after"]) == [b"body", b""]


def test_a_server_that_lost_what_was_read_is_noticed(server: servers.Server) -> None:
    with (
        redis.Redis.from_url(server.url) as client,
        RedisJournal(server.url) as reader,
        RedisJournal(server.url) as writer,
    ):
        for k in range(60):
            reader.append(f"k{k}", b"row %d" % k, b"")
        client.save()
        for k in range(60, 100):
            reader.append(f"k{k}", b"row %d" % k, b"")
        assert len(reader.read(0)) == 100
        server.kill()
        server.start()
        with pytest.raises(JournalRewound, match="60 entries where 100 had been seen"):
            reader.read(100)
        for k in range(60):
            writer.append(f"again {k}", b"row %d" % k, b"")
        with pytest.raises(JournalRewound, match="120 entries do not continue the 100"):
            reader.read(100)
        assert len(writer.read(0)) == 120


def test_a_server_that_forgot_everything_is_noticed(server: servers.Server) -> None:
    with RedisJournal(server.url) as journal:
        journal.append("a", b"row", b"")
        server.kill()
        server.start()
        with pytest.raises(JournalRewound, match="1 entries had been seen"):
            journal.append("b", b"row", b"")


def test_a_server_that_stays_away_is_given_up_in_bounded_time(
    server: servers.Server,
) -> None:
    with RedisJournal(server.url, retries=4) as journal:
        journal.append("a", b"row", b"")
        server.kill()
        start = time.monotonic()
        with pytest.raises(JournalUnavailable, match="unix://"):
            journal.append("b", b"row", b"")
        # 0.02 + 0.04 + 0.08 + 0.16 seconds.
        assert 0.25 < seconds(start) < 3.0
        server.start()
        with pytest.raises(JournalRewound):
            journal.append("b", b"row", b"")


def test_a_server_that_hangs_is_given_up_in_bounded_time(
    server: servers.Server,
) -> None:
    with (
        redis.Redis.from_url(server.url) as client,
        RedisJournal(server.url, timeout_seconds=0.1, retries=1) as journal,
    ):
        journal.append("a", b"row", b"")
        client.client_pause(800)
        start = time.monotonic()
        with pytest.raises(JournalUnavailable, match="imeout"):
            journal.append("b", b"row", b"")
        assert seconds(start) < 0.7
        client.client_unpause()
        assert not journal.append("a", b"row", b"")


def test_an_append_whose_reply_was_lost_is_there_once(server: servers.Server) -> None:
    with RedisJournal(server.url) as journal:
        journal.append("a", b"row", b"")
        script, sent = journal._append, 0

        def lossy(*arguments: object) -> object:
            nonlocal sent
            sent += 1
            reply = script(*arguments)
            if sent == 1:
                raise redis.ConnectionError("the reply was lost")
            return reply

        journal._append = lossy  # type: ignore[assignment]
        assert not journal.append("b", b"row", b"body")
        assert sent == 2
        assert len(journal.read(0)) == 2
        assert journal.fetch(["b"]) == [b"body"]


SECRET = "Tr0ub4dor"


def with_password(server: servers.Server, password: str) -> str:
    return f"{server.url}?password={password}"


def test_a_password_opens_and_is_never_shown(server: servers.Server) -> None:
    with redis.Redis.from_url(server.url) as client:
        client.config_set("requirepass", SECRET)
    with RedisJournal(with_password(server, SECRET)) as journal:
        assert journal.append("a", b"row", b"")
        assert SECRET not in repr(journal) + str(journal) + repr(journal._client)
        assert SECRET not in repr(vars(journal)) + repr(vars(journal._client))
    start = time.monotonic()
    with RedisJournal(with_password(server, f"{SECRET}!")) as journal:
        with pytest.raises(JournalUnavailable, match=r"WRONGPASS|invalid") as caught:
            journal.append("a", b"row", b"")
        assert SECRET not in "".join(traceback.format_exception(caught.value))
    # A refusal is no absence: it is not tried again.
    assert seconds(start) < 1.0
    with (
        RedisJournal(server.url) as journal,
        pytest.raises(
            JournalUnavailable, match=r"unauthenticated|uthentication required"
        ),
    ):
        journal.append("a", b"row", b"")


@pytest.mark.parametrize(
    "url",
    [
        f"redis://user:{SECRET}@localhost:1",
        f"rediss://:{SECRET}@localhost:1/3",
        f"rediss://localhost:1/3?password={SECRET}&ssl_cert_reqs=none",
    ],
)
def test_no_secret_of_an_address_gets_into_an_error(url: str) -> None:
    journal = RedisJournal(url, timeout_seconds=1.0, retries=0)
    with pytest.raises(JournalUnavailable, match="//localhost:1") as caught:
        journal.append("a", b"row", b"")
    said = "".join(traceback.format_exception(caught.value)) + repr(journal)
    assert SECRET not in said


@pytest.mark.parametrize(
    "url",
    [
        f"redis://user:a#{SECRET}@localhost",
        f"redis://user:a/{SECRET}@localhost",
        f"redis://user:{SECRET}/b",
        f"redis://:a?{SECRET}@localhost",
        f"redis://[{SECRET}@localhost",
        f"http://:{SECRET}@localhost",
        f"{SECRET}@localhost:6379",
        f"redis:{SECRET}@localhost",
        f"redis://localhost?socket_timeout={SECRET}",
    ],
)
def test_no_secret_of_a_bad_address_gets_into_the_refusal(url: str) -> None:
    with pytest.raises(ValueError, match="url must") as caught:
        RedisJournal(url)
    assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_an_address_must_be_a_string() -> None:
    with pytest.raises(TypeError, match="url must be a string, got a NoneType"):
        RedisJournal(None)  # type: ignore[arg-type]


def test_tls_is_asked_for_by_the_address() -> None:
    journal = RedisJournal("rediss://:pw@example:6380/2?ssl_ca_certs=ca.pem")
    pool = journal._client._client.connection_pool
    assert issubclass(pool.connection_class, redis.SSLConnection)
    options = pool.connection_kwargs
    assert options["ssl_ca_certs"] == "ca.pem"
    assert (options["password"], options["db"]) == ("pw", 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"timeout_seconds": 0.0}, "timeout_seconds must be positive and finite"),
        ({"retries": -1}, "retries must not be negative, got -1"),
        ({"name": ""}, "name must not be empty"),
    ],
)
def test_bad_options_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RedisJournal("redis://localhost", **options)  # type: ignore[arg-type]


def test_an_address_that_asks_for_decoded_replies_gets_bytes_all_the_same(
    server: servers.Server,
) -> None:
    with RedisJournal(f"{server.url}?decode_responses=True") as journal:
        journal.append("a", b"\xff", b"\xfe")
        assert journal.read(0) == [Entry(1, b"\xff")]
        assert journal.fetch(["a"]) == [b"\xfe"]


def test_without_redis_py_the_refusal_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "redis", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'boltzmem\[redis\]'"):
        RedisJournal("redis://localhost")


def test_a_server_that_evicts_keys_is_noticed(server: servers.Server) -> None:
    with (
        redis.Redis.from_url(server.url) as client,
        RedisJournal(server.url) as journal,
    ):
        journal.append("a", b"row", b"body")
        client.delete("boltzmem:{main}:bodies")
        for call in (
            lambda: journal.append("b", b"", b""),
            lambda: journal.fetch(["a"]),
        ):
            with pytest.raises(
                JournalUnreadable, match="1 entries, 0 discarded, and 0 keys"
            ):
                call()
        assert client.llen("boltzmem:{main}:rows") == 1


def forgotten(journal: Journal) -> Journal:
    """Returns a journal of more than one call's rows and bodies, some discarded."""
    for k in range(3_500):
        journal.append(f"k{k}", b"row %d" % k, b"body")
    journal.discard([f"k{k}" for k in range(0, 3_500, 7)])
    return journal


def test_a_body_that_is_evicted_among_discarded_ones_is_noticed(
    server: servers.Server,
) -> None:
    with (
        redis.Redis.from_url(server.url) as client,
        RedisJournal(server.url) as journal,
    ):
        for k in range(5):
            journal.append(f"k{k}", b"row", b"body")
        journal.discard(["k0", "k1"])
        assert journal.fetch(["k0", "k4"]) == [None, b"body"]
        client.hdel("boltzmem:{main}:bodies", "k4")
        with pytest.raises(JournalUnreadable, match="5 entries, 2 discarded, and 2 ke"):
            journal.fetch(["k0"])


def test_the_server_keeps_no_more_than_what_is_kept(server: servers.Server) -> None:
    keys = [f"boltzmem:{{main}}:{part}" for part in ("rows", "bodies", "snapshot")]
    sizes = []
    with (
        redis.Redis.from_url(server.url) as client,
        RedisJournal(server.url) as journal,
    ):
        for n_appended in forgetting(journal, 6_000):
            if n_appended % 600 == 0:
                sizes.append(sum(client.memory_usage(key) or 0 for key in keys))
        assert client.hlen(keys[1]) == 100
    assert max(sizes) < 1.1 * sizes[0]
    assert sizes[0] < 500_000


def waiting(client: redis.Redis) -> list[bytes]:
    return [key for key in client.keys("*") if b":meta" not in key]


def test_a_restore_that_dies_leaves_an_empty_journal_and_little_for_long(
    server: servers.Server,
) -> None:
    dump = forgotten(InMemoryJournal()).dump()
    with (
        redis.Redis.from_url(server.url) as client,
        RedisJournal(server.url) as journal,
    ):
        send, sent = journal._stage, 0

        def dying(*arguments: object) -> object:
            nonlocal sent
            sent += 1
            if sent == 3:
                raise KeyboardInterrupt
            return send(*arguments)

        journal._stage = dying  # type: ignore[assignment]
        call = journal._client.call
        journal._client.call = lambda *_: None  # type: ignore[method-assign]
        with pytest.raises(KeyboardInterrupt):
            journal.restore(dump)
        assert len(waiting(client)) == 1
        assert all(0 < client.ttl(key) <= 3_600 for key in waiting(client))
        assert journal.read(0) == []
        journal._client.call = call  # type: ignore[method-assign]
        sent = 0
        with pytest.raises(KeyboardInterrupt):
            journal.restore(dump)
        assert len(waiting(client)) == 1
        sent = 3
        journal.restore(dump)
        assert journal.dump() == dump
        assert all(client.ttl(key) == -1 for key in client.keys("*}:bodies"))


def test_a_restore_whose_replies_are_lost_is_there_once(server: servers.Server) -> None:
    dump = forgotten(InMemoryJournal()).dump()
    with RedisJournal(server.url) as journal:
        run, sent = journal._client._client.evalsha, 0

        def lossy(*arguments: object) -> object:
            nonlocal sent
            sent += 1
            reply = run(*arguments)
            if sent % 2 == 1:
                raise redis.ConnectionError("the reply was lost")
            return reply

        journal._client._client.evalsha = lossy  # type: ignore[method-assign]
        journal.restore(dump)
        assert sent > 8
        assert journal.dump() == dump


def test_a_restore_whose_parts_are_evicted_is_refused(server: servers.Server) -> None:
    dump = forgotten(InMemoryJournal()).dump()
    with (
        redis.Redis.from_url(server.url) as client,
        RedisJournal(server.url) as journal,
    ):
        send = journal._restore

        def late(*arguments: object) -> object:
            client.delete(*client.keys("*:rows:*"))
            return send(*arguments)

        journal._restore = late  # type: ignore[assignment]
        with pytest.raises(JournalUnavailable, match="gone from the server before"):
            journal.restore(dump)
        assert client.keys() == []


def test_a_journal_of_a_later_release_is_refused(server: servers.Server) -> None:
    with (
        redis.Redis.from_url(server.url) as client,
        RedisJournal(server.url) as journal,
    ):
        journal.append("a", b"row", b"")
        client.hset("boltzmem:{main}:meta", "format", "2")
        with pytest.raises(JournalUnreadable, match="format b'2', this release reads"):
            RedisJournal(server.url).append("b", b"row", b"")
        assert client.llen("boltzmem:{main}:rows") == 1


def test_a_key_of_another_kind_is_a_clear_error(server: servers.Server) -> None:
    with (
        redis.Redis.from_url(server.url) as client,
        RedisJournal(server.url) as journal,
    ):
        client.set("boltzmem:{main}:rows", "theirs")
        with pytest.raises(JournalUnavailable, match="WRONGTYPE"):
            journal.append("a", b"row", b"")


def test_a_full_server_refuses_and_changes_nothing(server: servers.Server) -> None:
    with (
        redis.Redis.from_url(server.url) as client,
        RedisJournal(server.url) as journal,
    ):
        journal.append("a", b"row", b"")
        client.config_set("maxmemory", 1)
        with pytest.raises(JournalUnavailable, match=r"OOM|maxmemory"):
            journal.append("b", b"row", b"")
        client.config_set("maxmemory", 0)
        assert journal.append("b", b"row", b"")
        assert len(journal.read(0)) == 2
