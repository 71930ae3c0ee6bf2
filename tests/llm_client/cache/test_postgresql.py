"""A ledger whose server goes away, and hosts that share one: nothing is lost, and nothing counted twice."""

import re
import time
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from apportion.foundation import optional_packages
from apportion.foundation.cache_dir import cache_folder
from apportion.foundation.errors import InputError
from apportion.llm_client.cache import leases, postgresql
from apportion.llm_client.cache.cache import CachedReply, ReplyCache
from apportion.llm_client.cache.database import ledger_place
from apportion.llm_client.client import Client
from apportion.llm_client.errors import LedgerAwayError, SetupError
from apportion.llm_client.request import ChatReply
from apportion.llm_client.settings import LLMSettings
from apportion.llm_client.usage import Overrun
from tests.llm_client.cost.test_spending_limit import PRICES, USD_A_REPLY, request
from tests.llm_client.openai_server import OpenAIServer, serving


@pytest.fixture
def url(postgres, tmp_path, monkeypatch):
    monkeypatch.setenv("APPORTION_CACHE", str(tmp_path / "here"))
    return postgres.ledger()


@pytest.fixture
def cache(url):
    made = ReplyCache(url)
    yield made
    made.close()


def unsent():
    return list((cache_folder() / "unsent").glob("*/*.jsonl"))


def test_a_reply_that_comes_while_the_server_is_away_is_kept_here_and_put_in_once(postgres, url, tmp_path, monkeypatch):
    monkeypatch.setattr(postgresql, "AWAY_S", 0.2)
    (tmp_path / "prices.toml").write_text(PRICES)
    with serving(OpenAIServer(latency_s=0.5)) as server, ThreadPoolExecutor(1) as pool:
        settings = LLMSettings(base_url=server.url, model="m", max_tokens=10, max_retries=0)
        with Client(settings, cache=url, prices=tmp_path / "prices.toml", budget_usd=9) as client:
            asking = pool.submit(client.complete, request("1"))
            while not server.requests:
                assert not asking.done(), asking.exception()
                time.sleep(0.005)
            postgres.stop()
            with pytest.raises(LedgerAwayError, match=r"cannot be reached.*run the same command again to go on"):
                asking.result()
            assert LedgerAwayError.same_again
            with pytest.raises(LedgerAwayError):
                client.complete(request("2"))
        assert len(unsent()) == 1
        postgres.start()
        with Client(settings, cache=url, prices=tmp_path / "prices.toml", budget_usd=9) as client:
            assert client.complete(request("1")).text == "reply to 1"
    assert len(server.requests) == 1 and unsent() == []
    cache = ReplyCache(url)
    assert cache.usage().usd == pytest.approx(USD_A_REPLY) and cache.usage().unanswered_usd == 0
    cache.close()


def test_a_server_that_comes_back_in_time_is_gone_on_with(postgres, cache, caplog):
    cache.put("a", ChatReply("x", "m"), 1.0)
    postgres.kill()
    with ThreadPoolExecutor(2) as pool:
        waiting = [pool.submit(cache.put, "b", ChatReply("y", "m"), 0.5), pool.submit(cache.get, "a")]
        try:
            while not unsent() or len(caplog.records) < 2:
                assert not all(future.done() for future in waiting)
                time.sleep(0.01)
        finally:
            postgres.start()
        assert [future.result().text for future in waiting] == ["y", "x"]
    assert unsent() == [] and cache.usage().usd == 1.5
    assert all("it is waited for, 60 s at most" in record.getMessage() for record in caplog.records)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_connection_that_breaks_around_the_commit_counts_a_reply_once(cache, monkeypatch, when):
    broken = []
    execute = postgresql._Adapter.execute

    def breaking(self, statement, values=()):
        if statement == "COMMIT" and not broken:
            broken.append(statement)
            if when == "after":
                execute(self, statement, values)
            self.raw.close()
            raise psycopg.OperationalError("server closed the connection unexpectedly")
        return execute(self, statement, values)

    monkeypatch.setattr(postgresql._Adapter, "execute", breaking)
    assert cache.put("a", ChatReply("x", "m"), 1.0).text == "x"
    assert cache.usage().usd == 1.0 and broken and unsent() == []


def test_what_was_put_in_before_its_file_was_removed_is_not_put_in_again(url, tmp_path, caplog):
    entry = CachedReply("a", ChatReply("x", "m"), 1.0, asked="m", overrun=Overrun(0.5, 10, 20))
    for session, number in (("s", 1), ("s", 2), ("s", 1), ("s", 2), ("t", 1)):
        cache = ReplyCache(url)
        file = postgresql._Unsent(url, f"{session}.{number}")
        file.write([cache._database._line(entry)])
        ReplyCache(url).close()  # Whoever holds the file is still trying.
        assert len(unsent()) == 1
        file.close()
        with unsent()[0].open("a") as torn:
            torn.write('{"key": "b", "rep')
        cache.close()
        ReplyCache(url).close()
        assert unsent() == []
    cache = ReplyCache(url)
    assert cache.get("a") == ChatReply("x", "m") and cache.get("b") is None
    assert cache.usage().usd == 3.0 and cache.usage().overrun == Overrun(1.5, 30, 60, estimated=True)
    cache.close()
    assert [r.getMessage().rpartition(": ")[2] for r in caplog.records] == [
        "1 paid replies that had waited for it here are in it now"
    ] * 3


def test_a_disk_that_takes_no_file_either_is_told(url, monkeypatch, caplog):
    monkeypatch.setenv("APPORTION_CACHE", "/proc/none")
    postgresql._Unsent(url, "s.1").write(["{}"])
    assert "1 paid replies cannot be kept here while the ledger is away" in caplog.text


def test_texts_that_postgresql_does_not_take_are_kept(cache):
    cache.transact(lambda c: None, keeps=[CachedReply("n", ChatReply("x", "m"))])
    kept = cache.put_all([CachedReply("k", ChatReply("a \0 b", "m\0", finish_reason="stop"), asked="m")])
    assert kept == [ChatReply("a \0 b", "m\0", finish_reason="stop")] == [cache.get("k")]


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
@pytest.mark.parametrize("hours", [-1, 1])
def test_a_clock_that_jumps_frees_no_claim_of_who_lives(kind, hours, tmp_path, request, monkeypatch):
    cache = ReplyCache(tmp_path / "c" if kind == "sqlite" else request.getfixturevalue("url"))
    one, other = (cache.transact(leases.add_owner) for _ in range(2))
    take = lambda owner: cache.transact(lambda c: leases.claim(c, "k", owner)).state  # noqa: E731
    assert take(one) == "ours"
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + hours * 3600)
    assert take(other) == "asked elsewhere"
    cache.transact(lambda c: leases.renew(c, one))
    assert take(other) == "asked elsewhere"
    assert cache.transact(leases.add_owner) and take(other) == "asked elsewhere"
    if kind == "postgresql":
        assert abs(cache.now() - real()) < 60
    cache.close()


def test_the_lease_of_a_dead_host_ends_and_is_told(cache, monkeypatch, caplog):
    dead, other = (cache.transact(leases.add_owner) for _ in range(2))
    cache.transact(lambda c: leases.claim(c, "k", dead))
    cache.transact(lambda c: c.execute("UPDATE owners SET host = 'node7 boot pid', pid = 1 WHERE id = ?", (dead,)))
    take = lambda: cache.transact(lambda c: leases.claim(c, "k", other)).state  # noqa: E731
    assert take() == "asked elsewhere"  # Process 1 lives here, and says nothing of another host's.
    cache.transact(lambda c: c.execute("UPDATE owners SET expires_at = unix_now() - 1 WHERE id = ?", (dead,)))
    assert take() == "asked elsewhere"
    monkeypatch.setattr(leases, "_GRACE_S", 0.0)
    assert take() == "ours"
    assert "process 1 of node7 has not renewed its lease for 60 s" in caplog.text


def test_a_claim_is_on_the_disk_though_no_sync_was_asked_for(cache):
    settings = cache.transact(
        lambda c: c.execute("SELECT current_setting('synchronous_commit')").fetchone(), synced=False
    )
    assert settings == ("on",)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("postgresql://tests@/none?host={}", 'FATAL: +database "none" does not exist'),
        ("postgresql://nobody@/postgres?host={}", 'FATAL: +role "nobody" does not exist'),
        ("postgresql://nohost.invalid/db", "failed to resolve host"),
        ("postgresql://127.0.0.1:port/db", "invalid integer value"),
        ("postgresql://localhost/db?sslmode=no", "invalid sslmode value"),
        ("postgresql://localhost/db?no_such=1", "invalid URI query parameter"),
    ],
)
def test_a_url_that_leads_nowhere_is_told_at_once(url, given, said):
    with pytest.raises(
        SetupError, match=rf"the ledger postgresql://.* cannot be used: .*{said}.*Correct run\.llm_cache"
    ):
        ReplyCache(given.format(url.partition("host=")[2]))


def test_a_server_that_is_not_there_is_waited_for_a_moment(monkeypatch, caplog):
    monkeypatch.setattr(postgresql, "COMING_S", 0.1)
    with pytest.raises(LedgerAwayError, match=r"postgresql://127\.0\.0\.1:1/db cannot be reached.*refused"):
        ReplyCache("postgresql://127.0.0.1:1/db")
    assert "it is waited for, 0 s at most" in caplog.text


def test_a_ledger_of_another_version_is_left_alone(url):
    cache = ReplyCache(url)
    cache.transact(lambda c: c.execute("UPDATE version SET number = 99"))
    cache.close()
    with pytest.raises(SetupError, match="is of version 99, and this program knows 5"):
        ReplyCache(url)


def test_a_user_who_may_not_make_tables_is_told(cache, url):
    cache.transact(lambda c: c.execute("DROP TABLE replies CASCADE"))
    with pytest.raises(SetupError, match=r"cannot be used: relation .*replies.* does not exist"):
        cache.put("a", ChatReply("x", "m"))


def test_without_the_driver_the_command_that_installs_it_is_named(monkeypatch):
    monkeypatch.setattr(optional_packages, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=re.escape("pip install 'apportion[postgresql]'")):
        ReplyCache("postgresql://here/db")


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ("postgresql://me:secret@host/db", "password"),
        ("postgres://host/db?user=me&password=secret", "password"),
        ("mysql://host/db", "allowed are an SQLite file and postgresql"),
        ("postgresql:/host/db", "allowed are"),
        ("host=here password=secret dbname=db", "no file and no URL"),
    ],
)
def test_a_url_with_a_password_or_of_another_kind_is_no_ledger(given, wrong):
    with pytest.raises(ValueError, match=wrong):
        ledger_place(given)


def test_a_url_stays_a_text_and_all_else_is_a_file(tmp_path):
    assert ledger_place("postgresql://me@host:5433/db") == "postgresql://me@host:5433/db"
    assert ledger_place(str(tmp_path)) == tmp_path == ledger_place(tmp_path)
