"""Damaged files: what is left of them is told, saved, and never mistaken for all."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from apportion.llm_client.cache import inspection
from apportion.llm_client.cache import repair as salvage
from apportion.llm_client.cache.cache import ReplyCache
from apportion.llm_client.cache.inspection import inspect
from apportion.llm_client.cache.repair import repair
from apportion.llm_client.cache.schema import read_reply
from apportion.llm_client.errors import DamagedCacheError, SetupError
from apportion.llm_client.request import ChatReply
from tests.llm_client.cache.damaged import DAMAGES, PAGE, REPLIES, USD, filled, found, key, reply, user, zeroed_pages


@pytest.fixture
def path(tmp_path):
    return tmp_path / "cache.sqlite"


def files(path):
    return {file.name: file.read_bytes() for file in path.parent.iterdir()}


@pytest.mark.parametrize("log", [False, True])
def test_a_sound_file_is_called_so_and_left_as_it_is(path, log):
    filled(path, log)
    before = files(path)
    contents = inspect(path)
    assert contents.sound and len(contents.replies) == REPLIES and contents.lost == 0
    assert repair(path).damaged is None
    after = files(path)
    assert {name: after[name] for name in before} == before
    assert after.keys() - before.keys() <= {"cache.sqlite-shm"}
    assert found(path) == REPLIES


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_can_be_read_is_saved_and_what_is_lost_is_counted_in_replies_and_money(path, damage):
    raw = filled(path).read_bytes()
    path.write_bytes(damage(raw))
    told = inspect(path)
    assert not told.sound and path.read_bytes() == damage(raw)
    done = repair(path)
    assert done.damaged == path.with_name("cache.sqlite.damaged-1")
    assert done.damaged.read_bytes() == damage(raw)
    saved = found(path)
    assert saved == len(done.contents.replies) == len(told.replies) >= REPLIES // 2
    if told.account is not None:
        assert (done.contents.lost, told.lost) == (REPLIES - saved, REPLIES - saved)
        assert done.contents.lost_usd == pytest.approx((REPLIES - saved) * USD)
        cache = ReplyCache(path)
        assert cache.usage().usd + cache.usage().unanswered_usd == pytest.approx(REPLIES * USD)
        cache.close()
    assert inspect(path).sound and repair(path).damaged is None
    assert {file.name for file in path.parent.iterdir()} <= {"cache.sqlite", "cache.sqlite.damaged-1"}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_run_on_a_damaged_file_is_told_so_and_does_not_change_what_can_be_saved(path, damage):
    path.write_bytes(damage(filled(path).read_bytes()))
    told = inspect(path)

    def use():
        cache = ReplyCache(path)
        try:
            for number in range(REPLIES):
                cache.get(key(number))
        finally:
            cache.close()

    with pytest.raises(
        DamagedCacheError, match=r"cache\.sqlite cannot be used: .* The file is damaged\. What can still"
    ):
        use()
    assert len(repair(path).contents.replies) == len(told.replies)


@pytest.mark.parametrize("kept", [0, 10, 31, 5000, 40_000])
def test_a_log_that_was_cut_or_lost_its_head_costs_no_reply_that_stands_in_it(path, kept):
    filled(path, log=True)
    log = path.with_name("cache.sqlite-wal")
    raw = log.read_bytes()
    log.write_bytes(bytes(32) + raw[32:] if kept == 0 else raw[:kept] + b"\xff" * 100 + raw[kept + 100 :])
    # SQLite believes the log up to the first damage, and takes the rest for rubbish.
    assert not inspect(path).sound
    assert len(repair(path).contents.replies) >= REPLIES - 1
    assert found(path) >= REPLIES - 1 and not log.exists()


def test_a_log_that_is_missing_leaves_what_is_in_the_file(path):
    filled(path, log=True)
    path.with_name("cache.sqlite-wal").unlink()
    assert inspect(path).sound
    assert found(path) < REPLIES


@pytest.mark.parametrize(
    "text", ["{", '{"text": 5, "model": "m"}', '["x"]', "null", '{"text": "x"}', '{"a": 1}', b"\xff", 7]
)
def test_a_row_that_is_no_reply_counts_as_none_is_asked_again_and_keeps_its_cost(path, text, caplog):
    filled(path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE replies SET reply = ? WHERE key IN (?, ?)", (text, key(1), key(2)))
    contents = inspect(path)
    assert (len(contents.replies), contents.lost) == (REPLIES - 2, 2) and not contents.problems
    cache = ReplyCache(path)
    assert cache.get(key(1)) is None and cache.get(key(2)) is None and cache.get(key(3)) == reply(3)
    assert cache.put(key(1), ChatReply("asked again", "m", 5, 5), 0.5).text == "asked again"
    assert cache.get(key(1)).text == "asked again"
    assert cache.usage().usd == pytest.approx(REPLIES * USD + 0.5)
    cache.close()
    assert [record.getMessage()[-60:] for record in caplog.records if "read" in record.getMessage()] == [
        "is asked for again where it is needed, as are others like it",
        f"{path}: 2 replies could not be read and count as none"[-60:],
    ]
    done = repair(path)
    assert (done.contents.lost, done.contents.lost_usd) == (1, pytest.approx(USD))
    assert found(path, but=1) == REPLIES - 2


@pytest.mark.parametrize("log", [False, True])
def test_a_letter_that_has_changed_is_noticed(path, log):
    filled(path, log)
    file = path.with_name("cache.sqlite-wal") if log else path
    raw = file.read_bytes()
    assert b"text 7 " in raw
    file.write_bytes(raw.replace(b"text 7 ", b"tezt 7 "))
    if not log:  # The checksums of the log itself find it there.
        assert (len(inspect(path).replies), inspect(path).lost) == (REPLIES - 1, 1)
        cache = ReplyCache(path)
        assert cache.get(key(7)) is None
        assert cache.put(key(7), reply(7)) == reply(7) == cache.get(key(7))
        cache.close()
        return
    assert len(repair(path).contents.replies) == REPLIES - 1 == found(path)


def test_what_is_in_a_batch_and_what_is_set_aside_outlive_the_repair(path):
    filled(path)
    cache = ReplyCache(path)

    def fill(connection):
        connection.execute("INSERT INTO reserved (usd) VALUES (0.25), (0.5)")
        connection.execute("INSERT INTO batches (token, url, dialect, batch_id) VALUES ('t', 'u', '[]', 'batch_7')")
        connection.execute("INSERT INTO batched VALUES (?, 1, 2)", (key("in a batch"),))
        connection.execute("UPDATE replies SET reply = '{' WHERE key = ?", (key(0),))

    cache.transact(fill)
    cache.close()
    repair(path)
    cache = ReplyCache(path)
    used = cache.usage()
    assert (used.unanswered_usd, used.in_batches_usd) == (pytest.approx(0.25 + USD), 0.5)
    assert cache.transact(lambda c: c.execute("SELECT token, url, batch_id FROM batches").fetchall()) == [
        ("t", "u", "batch_7")
    ]
    assert cache.transact(lambda c: c.execute("SELECT * FROM batched").fetchall()) == [(key("in a batch"), 1, 2)]
    cache.close()


def test_a_repair_is_refused_while_another_process_uses_the_file(path):
    path.write_bytes(zeroed_pages(filled(path).read_bytes()))
    process = user(path)
    before = path.read_bytes()
    assert len(inspect(path).replies) >= REPLIES // 2
    with pytest.raises(SetupError, match="another process is using the reply cache"):
        repair(path)
    process.communicate("done\n")
    assert path.read_bytes() == before
    assert repair(path).damaged is not None


def test_a_kill_half_way_leaves_the_old_file_with_its_log_or_the_new_one(path, monkeypatch):
    filled(path, log=True)
    log = path.with_name("cache.sqlite-wal")
    raw = log.read_bytes()
    log.write_bytes(raw[:5000] + b"\xff" * 100 + raw[5100:])

    def killed(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(salvage, "place_file", killed)
        with pytest.raises(KeyboardInterrupt):
            repair(path)
    assert path.exists()
    done = repair(path)
    assert done.damaged == path.with_name("cache.sqlite.damaged-1") and len(done.contents.replies) >= REPLIES - 1


def test_damaged_files_are_numbered_and_a_disk_without_links_gets_a_copy(path, monkeypatch):
    def no_links(self, target):
        raise OSError("not supported")

    filled(path)
    for number in (1, 2):
        raw = zeroed_pages(path.read_bytes())
        path.write_bytes(raw)
        monkeypatch.setattr(Path, "hardlink_to", no_links)
        done = repair(path)
        assert done.damaged == path.with_name(f"cache.sqlite.damaged-{number}") and done.damaged.read_bytes() == raw


def test_a_full_disk_leaves_the_file_as_it_was(path, monkeypatch):
    path.write_bytes(zeroed_pages(filled(path).read_bytes()))
    before = files(path)

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(salvage, "_write", full)
    with pytest.raises(SetupError, match=r"could not be repaired: .*No space left on device.* It is as it was"):
        repair(path)
    assert files(path) == before


@pytest.mark.parametrize(
    "raw", [b"a text that is no cache\n" * 400, b"SQLite format 3\x00" + bytes(34), bytes(3 * PAGE)]
)
def test_a_file_of_which_nothing_can_be_read_is_left_alone(path, raw):
    path.write_bytes(raw)
    with pytest.raises(SetupError, match=r"nothing of a reply cache can be read in .* move it away"):
        repair(path)
    assert files(path) == {"cache.sqlite": raw}
    assert not inspect(path).sound


def test_a_file_of_another_program_is_named(path):
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE people (name)")
    before = path.read_bytes()
    for use in (ReplyCache, inspect, repair):
        with pytest.raises(SetupError, match=rf"{path} is .* another program \(its tables: people\)"):
            use(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("use", [inspect, repair])
def test_a_folder_and_a_missing_file_are_named(path, use):
    for place, cause in ((path.parent, "it is a folder"), (path, "No such file")):
        with pytest.raises(SetupError, match=f"cannot be read .*{cause}.*Name the SQLite file of run.llm_cache"):
            use(place)
    with pytest.raises(SetupError, match="cannot be used"):
        ReplyCache(path.parent)


def test_an_empty_file_is_a_cache_without_replies(path):
    path.touch()
    assert inspect(path).sound and repair(path).damaged is None
    assert path.stat().st_size == 0


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_a_file_that_may_only_be_read_is_inspected(path):
    filled(path).chmod(0o444)
    assert inspect(path).sound


def test_a_file_in_a_place_of_others_is_called_sound_or_why_that_cannot_be_told(path, monkeypatch):
    filled(path)
    with monkeypatch.context() as patched:
        patched.setattr(inspection.os, "access", lambda place, mode: False)
        contents = inspect(path)
        assert contents.sound and len(contents.replies) == REPLIES
        assert list(files(path)) == ["cache.sqlite"]
    filled(path.with_name("other.sqlite"), log=True)

    def not_here(*arguments, **options):
        error = sqlite3.OperationalError("unable to open database file")
        error.sqlite_errorcode = sqlite3.SQLITE_CANTOPEN
        raise error

    monkeypatch.setattr(inspection.sqlite3, "connect", not_here)
    with pytest.raises(SetupError, match=r"other\.sqlite is sound cannot be told here: unable .* other\.sqlite-wal"):
        inspect(path.with_name("other.sqlite"))


@pytest.mark.parametrize("use", [ReplyCache, inspect, repair])
def test_a_pipe_is_no_cache(path, use):
    os.mkfifo(path)
    with pytest.raises(SetupError, match="it is no regular file"):
        use(path)


def test_a_disk_that_does_not_read_is_told(path, monkeypatch):
    path.write_bytes(zeroed_pages(filled(path).read_bytes()))

    def broken(*arguments):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(inspection.os, "pread", broken)
    with pytest.raises(SetupError, match=r"cannot be read to its end \(Input/output error\). Copy it"):
        inspect(path)


def test_a_file_that_a_run_is_adding_to_is_read_as_it_was_at_one_moment(path, monkeypatch):
    filled(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as run:
        run.execute("PRAGMA journal_mode = WAL")
        added = []

        def read(*values):
            if not added:
                added.append(run.execute("INSERT INTO replies (key, reply) VALUES (?, '{}')", (key("new"),)))
            return read_reply(*values)

        run.execute("UPDATE replies SET usd = usd")  # Its log is there, as it is in a run.
        monkeypatch.setattr(inspection, "read_reply", read)
        contents = inspect(path)
    assert added and contents.sound and (len(contents.replies), contents.lost) == (REPLIES, 0)


def test_requests_in_a_batch_that_is_lost_are_counted(path):
    filled(path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("INSERT INTO batches (token, url, dialect) VALUES ('t', 'u', '[]')")
        rows = [(key("a"), 1), (key("b"), 7), (key("c"), None)]
        connection.executemany("INSERT INTO batched VALUES (?, ?, NULL)", rows)
    assert inspect(path).adrift == 1
