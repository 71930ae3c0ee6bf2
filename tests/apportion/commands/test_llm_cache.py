import json
import sqlite3
from contextlib import closing

import pytest

from tests.behaviour.command import in_process
from tests.llm_client.cache.damaged import REPLIES, filled, found, zeroed_pages


@pytest.fixture
def folder(tmp_path):
    filled(tmp_path / "llm_cache.sqlite")
    return tmp_path


def damage(folder):
    path = folder / "llm_cache.sqlite"
    path.write_bytes(zeroed_pages(path.read_bytes()))
    return path


def test_a_sound_file_is_found_in_its_run_folder(folder, monkeypatch):
    done = in_process(monkeypatch, "models", "cache", "check", folder)
    assert done.returncode == 0
    assert done.stdout == (
        f"{folder / 'llm_cache.sqlite'}: {REPLIES} replies can be read, none is lost\nthe file is sound\n"
    )
    done = in_process(monkeypatch, "models", "cache", "repair", folder)
    assert (done.returncode, done.stdout) == (
        0,
        f"{folder / 'llm_cache.sqlite'}: nothing to repair, {REPLIES} replies can be read\n",
    )


def test_a_damaged_file_is_checked_repaired_and_sound(folder, monkeypatch):
    path = damage(folder)
    done = in_process(monkeypatch, "models", "cache", "check", path)
    assert done.returncode == 1
    assert " are lost, which cost $" in done.stdout and "  SQLite: " in done.stdout
    assert done.stdout.endswith(f"the file is damaged; next: apportion models cache repair {path}\n")
    as_json = json.loads(in_process(monkeypatch, "models", "cache", "check", path, "--json").stdout)
    assert not as_json["sound"] and as_json["readable"] + as_json["lost"] == REPLIES
    done = in_process(monkeypatch, "models", "cache", "repair", path)
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[0].startswith(f"{path}: saved {as_json['readable']} replies, {as_json['lost']} are lost, which cost $")
    assert lines[1:] == [
        "what was paid for lost replies stays counted against budgets",
        f"the damaged file is kept: {path}.damaged-1",
        "next: the run's own command again; it asks only for what is missing",
    ]
    assert in_process(monkeypatch, "models", "cache", "check", path).returncode == 0
    assert found(path) == as_json["readable"]


def test_requests_of_a_batch_that_is_lost_are_told(folder, monkeypatch):
    path = folder / "llm_cache.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE replies SET reply = '{' WHERE rowid = 1")
        connection.execute("INSERT INTO batched VALUES ('k', 7, NULL)")
    done = in_process(monkeypatch, "models", "cache", "repair", path)
    assert "1 requests were in a batch that is lost: they are asked, and paid, anew\n" in done.stdout


def test_that_the_number_of_the_lost_is_not_known_is_told(folder, monkeypatch):
    path = folder / "llm_cache.sqlite"
    raw = path.read_bytes()
    account = raw.index(b"all", raw.index(b"AFTER UPDATE OF usd"))
    page = account // 4096 * 4096
    path.write_bytes(bytes(4096) + raw[4096:page] + bytes(4096) + raw[page + 4096 :])
    done = in_process(monkeypatch, "models", "cache", "check", path)
    assert done.returncode == 1
    assert f"{REPLIES} replies can be read, and how many are lost is not known\n" in done.stdout
    assert f"{REPLIES} of them SQLite does not find any more; they are read page by page\n" in done.stdout


@pytest.mark.parametrize("command", ["check", "repair"])
def test_a_wrong_path_is_named(tmp_path, monkeypatch, command):
    done = in_process(monkeypatch, "models", "cache", command, tmp_path / "none.sqlite")
    assert done.returncode == 2 and "none.sqlite cannot be read (No such file or directory)" in done.stderr
    done = in_process(monkeypatch, "models", "cache", command, tmp_path)
    assert done.returncode == 2 and "llm_cache.sqlite in a run's folder" in done.stderr
