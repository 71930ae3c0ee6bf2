import signal
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from llm_client.cache import ReplyCache
from llm_client.errors import SetupError
from llm_client.request import ChatReply

ROOT = Path(__file__).resolve().parents[2]

WRITER = """
import sys
from pathlib import Path
from llm_client.cache import ReplyCache
from llm_client.request import ChatReply

cache = ReplyCache(Path(sys.argv[1]))
for number in range(10**6):
    cache.put(f"{sys.argv[2]}{number}", ChatReply(f"text {number}", "m"))
    print(number, flush=True)
"""


def test_a_kept_reply_is_found_again(tmp_path):
    reply = ChatReply("text \u2028 é", "m", 1, 2, "length")
    cache = ReplyCache(tmp_path / "new" / "cache.sqlite")
    assert cache.get("k") is None
    assert cache.put("k", reply) == reply
    cache.close()
    assert ReplyCache(tmp_path / "new" / "cache.sqlite").get("k") == reply


def test_the_first_reply_wins(tmp_path):
    cache = ReplyCache(tmp_path / "cache.sqlite")
    cache.put("k", ChatReply("first", "m"))
    assert cache.put("k", ChatReply("second", "m")).text == "first"


def test_many_threads_and_connections_write_at_once(tmp_path):
    caches = [ReplyCache(tmp_path / "cache.sqlite") for _ in range(4)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: caches[n % 4].put(str(n), ChatReply(str(n), "m")), range(200)))
    assert all(caches[0].get(str(n)) == ChatReply(str(n), "m") for n in range(200))


def test_every_reply_that_was_handed_out_outlives_kill_9(tmp_path):
    path = tmp_path / "cache.sqlite"
    for round_ in range(3):
        writers = [
            subprocess.Popen(
                [sys.executable, "-c", WRITER, str(path), f"{round_}{name}-"],
                stdout=subprocess.PIPE,
                text=True,
                cwd=ROOT,
            )
            for name in "ab"
        ]
        seen = [[writer.stdout.readline() for _ in range(10 + 5 * round_)] for writer in writers]
        for writer in writers:
            writer.send_signal(signal.SIGKILL)
        rest = [writer.communicate()[0].splitlines() for writer in writers]
        cache = ReplyCache(path)
        for name, first, more in zip("ab", seen, rest, strict=True):
            last = int((first + [line for line in more if line.strip().isdigit()])[-1])
            # The very last line may have been cut by the kill, which only makes its number smaller.
            for number in range(last + 1):
                assert cache.get(f"{round_}{name}-{number}") == ChatReply(f"text {number}", "m")
        cache.close()
    assert sqlite3.connect(path).execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_file_that_is_no_database_is_named(tmp_path):
    path = tmp_path / "cache.sqlite"
    path.write_text("no database at all " * 100)
    with pytest.raises(SetupError, match=r"cache\.sqlite cannot be used: file is not a database"):
        ReplyCache(path)
    assert path.read_text().startswith("no database")


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SetupError, match="cannot be used"):
        ReplyCache(tmp_path / "file" / "cache.sqlite")


def test_a_full_disk_is_told(tmp_path):
    cache = ReplyCache(tmp_path / "cache.sqlite")
    cache._connection.execute("PRAGMA max_page_count = 4")
    with pytest.raises(SetupError, match="full"):
        for number in range(100):
            cache.put(str(number), ChatReply("x" * 1000, "m"))
