import gzip
import signal
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from apportion.llm_client.batch.ledger import keys_in_batches
from apportion.llm_client.cache import database, reservations
from apportion.llm_client.cache.cache import ReplyCache
from apportion.llm_client.cache.inspection import inspect
from apportion.llm_client.errors import DamagedCacheError, SetupError
from apportion.llm_client.request import ChatReply
from apportion.llm_client.usage import Usage

ROOT = Path(__file__).resolve().parents[3]

WRITER = """
import sys
from apportion.llm_client.cache.cache import ReplyCache
from apportion.llm_client.cache.database import ledger_place
from apportion.llm_client.request import ChatReply

cache = ReplyCache(ledger_place(sys.argv[1]))
for number in range(10**6):
    cache.put(f"{sys.argv[2]}{number}", ChatReply(f"text {number}", "m"))
    print(number, flush=True)
"""


def test_a_kept_reply_is_found_again(place):
    reply = ChatReply("text \u2028 \0 é", "m", 1, 2, "length")
    place = place / "new" / "cache.sqlite" if isinstance(place, Path) else place
    cache = ReplyCache(place)
    assert cache.get("k") is None
    assert cache.put("k", reply) == reply
    cache.close()
    with closing(ReplyCache(place)) as cache:
        assert cache.get("k") == reply


def test_every_reply_that_was_handed_out_outlives_kill_9(place):
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(place), name], stdout=subprocess.PIPE, text=True, cwd=ROOT)
        for name in "ab"
    ]
    seen = [[writer.stdout.readline() for _ in range(15)] for writer in writers]
    for writer in writers:
        writer.send_signal(signal.SIGKILL)
    rest = [writer.communicate()[0].splitlines() for writer in writers]
    cache = ReplyCache(place)
    for name, first, more in zip("ab", seen, rest, strict=True):
        last = int((first + [line for line in more if line.strip().isdigit()])[-1])
        # The very last line may have been cut by the kill, which only makes its number smaller.
        assert all(cache.get(f"{name}{number}") == ChatReply(f"text {number}", "m") for number in range(last + 1))
    cache.close()
    if isinstance(place, Path):
        assert sqlite3.connect(place).execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_place_that_cannot_be_written_and_a_file_that_is_no_database_are_named(tmp_path):
    path = tmp_path / "cache.sqlite"
    path.write_text("no database at all " * 100)
    with pytest.raises(SetupError, match=r"cache\.sqlite cannot be used: file is not a database"):
        ReplyCache(path)
    assert path.read_text().startswith("no database")
    (tmp_path / "file").write_text("")
    with pytest.raises(SetupError, match="cannot be used"):
        ReplyCache(tmp_path / "file" / "cache.sqlite")


def test_words_of_sqlite_that_are_no_text_are_damage(tmp_path):
    path = tmp_path / "cache.sqlite"
    ReplyCache(path).close()
    raw = path.read_bytes()
    path.write_bytes(raw.replace(b"CREATE TRIGGER paid ", b"CREATE TRIGGER \xf3\xff\xf3\xff "))
    with pytest.raises(DamagedCacheError, match="The file is damaged"):
        ReplyCache(path)
    assert not inspect(path).sound


def test_a_file_that_another_process_keeps_locked_is_told_as_that(tmp_path, monkeypatch):
    monkeypatch.setattr(database, "LOCK_WAIT_S", 0.1)
    path = tmp_path / "cache.sqlite"
    ReplyCache(path).close()
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        cache = ReplyCache(path)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(SetupError, match=r"Another process has kept it locked for .* run the same command again"):
            cache.put("k", ChatReply("text", "m"))
        other.execute("ROLLBACK")
        cache.put("k", ChatReply("text", "m"))
        cache.close()


def test_a_full_disk_is_told(tmp_path):
    cache = ReplyCache(tmp_path / "cache.sqlite")
    cache._database.connection.execute("PRAGMA max_page_count = 4")
    with pytest.raises(SetupError, match="full"):
        for number in range(100):
            cache.put(str(number), ChatReply("x" * 1000, "m"))


def version_0(path, rows):
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE replies (key TEXT PRIMARY KEY, reply TEXT NOT NULL)")
    connection.executemany("INSERT INTO replies VALUES (?, ?)", rows)
    connection.commit()
    connection.close()


def test_replies_of_an_older_file_are_kept_and_their_tokens_found(tmp_path):
    path = tmp_path / "cache.sqlite"
    old = '{"text": "paid", "model": "m", "prompt_tokens": 11, "completion_tokens": 7, "finish_reason": "stop"}'
    version_0(path, [("a", old), ("b", '{"text": "x", "model": "m", "prompt_tokens": null}')])
    for _ in range(2):
        cache = ReplyCache(path)
        assert cache.get("a") == ChatReply("paid", "m", 11, 7)
        assert cache.usage() == Usage(2, 11, 0, 7, 0.0, unpriced=2)
        cache.close()
    cache = ReplyCache(path)
    cache.put("c", ChatReply("new", "m", 5, 3, cached_tokens=2), 0.25)
    assert cache.usage() == Usage(3, 16, 2, 10, 0.25, unpriced=2)


def test_a_file_of_version_2_keeps_its_replies_its_account_and_its_batches(tmp_path):
    path = tmp_path / "cache.sqlite"
    path.write_bytes(gzip.decompress((Path(__file__).with_name("recorded") / "version_2.sqlite.gz").read_bytes()))
    for _ in range(2):
        cache = ReplyCache(path)
        assert cache.get("a" * 64) == ChatReply("paid", "m-2025", 11, 7)
        used = Usage(2, 16, 0, 10, 0.25, unpriced=1, unanswered_usd=0.5, in_batches_usd=0.125)
        assert cache.usage() == used
        assert keys_in_batches(cache) == {"c" * 64: "not sent yet"}
        # The ceiling counts what was paid, what may have been, and what is in a batch.
        assert cache.transact(lambda connection: reservations.reserve(connection, 0.126, 1.0)) is None
        number = cache.transact(lambda connection: reservations.reserve(connection, 0.125, 1.0))
        cache.transact(lambda connection, number=number: reservations.release(connection, number))
        cache.close()


def test_the_account_is_the_sum_of_the_replies_costs(place):
    cache = ReplyCache(place)
    for key, usd in [("a", 1.0), ("b", None), ("a", 0.5), ("b", 0.25), ("b", None), ("c", None)]:
        cache.put(key, ChatReply("x", "m"), usd)
        (account,) = cache.transact(lambda connection: connection.execute("SELECT paid_usd FROM account").fetchone())
        assert account == pytest.approx(cache.usage().usd)
    assert cache.usage().usd == pytest.approx(1.75)


def test_many_processes_may_find_an_older_file_at_once(tmp_path):
    path = tmp_path / "cache.sqlite"
    version_0(path, [(str(n), ChatReply(f"text {n}", "m", 1, 1).to_json()) for n in range(500)])
    with ThreadPoolExecutor(8) as pool:
        caches = list(pool.map(lambda _: ReplyCache(path), range(8)))
    assert {cache.usage() for cache in caches} == {Usage(500, 500, 0, 500, unpriced=500)}


def test_a_newer_file_is_left_alone(tmp_path):
    path = tmp_path / "cache.sqlite"
    ReplyCache(path).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(SetupError, match="of version 99, and this program knows up to 5"):
        ReplyCache(path)


def test_use_is_summed_from_a_mark_on_and_a_reply_that_came_second_is_paid_too(place):
    cache = ReplyCache(place)
    assert (cache.last(), cache.usage()) == (0, Usage())
    cache.put("a", ChatReply("x", "m", 10, 1), 1.0)
    mark = cache.last()
    cache.put("b", ChatReply("y", "m", 20, 2), 0.5)
    cache.put("b", ChatReply("z", "m", 20, 2), 0.5)
    assert cache.get("b").text == "y"
    assert cache.usage(mark) == Usage(1, 20, 0, 2, 1.0)
    assert cache.usage().usd == 2.0
