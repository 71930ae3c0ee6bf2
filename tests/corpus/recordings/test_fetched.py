"""Recordings at URLs as files of a bounded folder."""

import fcntl
import multiprocessing
import os
import threading
import time

import pytest

from apportion.corpus.recordings import fetched
from apportion.corpus.recordings.addresses import HOSTS
from apportion.corpus.recordings.fetched import SIZE, held, state_of
from apportion.foundation.errors import InputError, UnitError
from tests.corpus.recordings.web import serve


@pytest.fixture
def web(monkeypatch, tmp_path):
    monkeypatch.setenv(HOSTS, "127.0.0.1")
    monkeypatch.setenv("APPORTION_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(fetched, "FIRST_WAIT_S", 0.0)
    monkeypatch.setattr(fetched, "RANGE", 100)
    monkeypatch.setattr(fetched, "_seen", {})
    with serve() as served:
        served.files["/film.mp4"] = os.urandom(1050)
        yield served


def read(url):
    with held(url) as path:
        return path.read_bytes()


def copies(tmp_path):
    return sorted(path for path in (tmp_path / "cache" / "media").iterdir() if path.suffix == ".copy")


def test_a_recording_is_copied_in_ranges_and_once(web, tmp_path):
    url = f"{web.url}/film.mp4"
    assert read(url) == read(url) == web.files["/film.mp4"]
    assert [asked for _, asked in web.asked] == [
        "bytes=0-0",
        *(f"bytes={a}-{min(a + 99, 1049)}" for a in range(0, 1050, 100)),
    ]
    assert web.sent == 1051 and len(copies(tmp_path)) == 1


def test_a_new_process_asks_only_whether_it_is_the_same(web, monkeypatch):
    url = f"{web.url}/film.mp4"
    read(url)
    stamp = state_of(url)[1]
    monkeypatch.setattr(fetched, "_seen", {})
    sent = web.sent
    assert read(url) == web.files["/film.mp4"] and web.sent == sent + 1 and state_of(url)[1] == stamp
    web.files["/film.mp4"], web.tags["/film.mp4"] = b"another", '"two"'
    monkeypatch.setattr(fetched, "_seen", {})
    assert read(url) == b"another" and state_of(url)[1] != stamp


def test_what_no_server_stamps_is_copied_anew_by_each_process(monkeypatch, web):
    url = f"{web.url}/film.mp4"
    web.tags["/film.mp4"] = ""
    first = (read(url), state_of(url)[1])
    monkeypatch.setattr(fetched, "_seen", {})
    assert read(url) == first[0] and state_of(url)[1] != first[1]


@pytest.mark.parametrize("ranges", [True, False])
def test_answers_that_are_cut_short_or_late_are_asked_for_again(web, ranges):
    web.ranges = ranges
    web.cut = [30, 61] if ranges else [500, 1049, 0]
    web.spoil = lambda path, count: 503 if count in (1, 4, 5) else None
    assert read(f"{web.url}/film.mp4") == web.files["/film.mp4"]


def test_what_has_come_is_kept_and_gone_on_with(web, monkeypatch):
    url = f"{web.url}/film.mp4"
    web.spoil = lambda path, count: 503 if count > 4 else None
    with pytest.raises(UnitError, match=r"/film.mp4 could not be read, 5 times in a row \(answered 503\)"):
        read(url)
    web.spoil, before = (lambda path, count: None), len(web.asked)
    assert read(url) == web.files["/film.mp4"]
    assert web.asked[before] == ("/film.mp4", "bytes=300-399")


def test_a_recording_that_changes_on_the_way_is_not_mixed(web):
    def swap(path, count):
        web.tags["/film.mp4"] = '"two"' if count > 4 else '"one"'

    web.spoil = swap
    with pytest.raises(UnitError, match=r"changed while it was read. Run the same command again"):
        read(f"{web.url}/film.mp4")
    assert read(f"{web.url}/film.mp4") == web.files["/film.mp4"]


def test_an_empty_recording_is_an_error(web):
    web.files["/film.mp4"] = b""
    with pytest.raises(UnitError, match=r"the file is empty"):
        read(f"{web.url}/film.mp4")


def test_the_folder_keeps_its_size_and_what_was_used_last_or_is_in_use(web, monkeypatch, tmp_path):
    monkeypatch.setenv(SIZE, "3e-6")
    urls = [f"{web.url}/{name}.mp4" for name in "abcd"]
    web.files |= {f"/{name}.mp4": name.encode() * 1000 for name in "abcd"}
    for url in urls[:3]:
        read(url)
        time.sleep(0.01)
    with held(urls[0]) as first:
        read(urls[3])
        assert first.read_bytes() == b"a" * 1000 and len(copies(tmp_path)) == 3
        sent = web.sent
        assert read(urls[2]) == b"c" * 1000 and web.sent == sent
        read(urls[1])  # It went, though it is older than c: nobody held it.
        assert web.sent == sent + 1000
    assert sum(path.stat().st_size for path in copies(tmp_path)) == 3000


def test_a_recording_waits_for_room_and_not_for_ever(web, monkeypatch):
    monkeypatch.setenv(SIZE, "1.5e-6")
    web.files |= {"/a.mp4": b"a" * 1000, "/b.mp4": b"b" * 1000, "/c.mp4": b"c" * 2000}
    with held(f"{web.url}/a.mp4"):
        monkeypatch.setattr(fetched, "ROOM_WAIT_S", 0.2)
        with pytest.raises(UnitError, match=f"no room for it beside recordings that are in use. Set {SIZE} to more"):
            read(f"{web.url}/b.mp4")
        monkeypatch.setattr(fetched, "ROOM_WAIT_S", 60)
        found: list[bytes] = []
        other = threading.Thread(target=lambda: found.append(read(f"{web.url}/b.mp4")))
        other.start()
        time.sleep(0.3)
        assert not found
    other.join()
    assert found == [b"b" * 1000]
    with pytest.raises(UnitError, match=f"and copies may take 1.5e-06 GB. Set {SIZE} to more"):
        read(f"{web.url}/c.mp4")


@pytest.mark.parametrize("size", ["0", "-1", "many", "nan", "inf"])
def test_a_size_that_is_none_is_an_error(web, monkeypatch, size):
    monkeypatch.setenv(SIZE, size)
    with pytest.raises(InputError, match=f"{SIZE} = '{size}': a number of GB above 0 is needed"):
        read(f"{web.url}/film.mp4")


def test_a_folder_that_cannot_be_made_or_is_full_is_told(web, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("APPORTION_CACHE", str(tmp_path / "file"))
    with pytest.raises(InputError, match=r"recordings cannot be kept there"):
        read(f"{web.url}/film.mp4")
    monkeypatch.setenv("APPORTION_CACHE", str(tmp_path / "cache"))

    def full(*asked):
        raise OSError(28, "No space left on device")

    for place in ("addresses.Web.copy", "fetched.write_atomically", "fetched.place_file"):
        with monkeypatch.context() as patch:
            patch.setattr(f"apportion.corpus.recordings.{place}", full)
            with pytest.raises(UnitError, match=r"cannot be kept in .*No space left on device"):
                read(f"{web.url}/film.mp4")
    assert read(f"{web.url}/film.mp4") == web.files["/film.mp4"]


def _read_in_process(url, pipe):
    with held(url) as path:
        pipe.send(path.read_bytes())


def test_two_processes_fetch_a_film_once_and_a_killed_one_is_gone_on_from(web, tmp_path):
    web.files["/film.mp4"] = os.urandom(400_000)
    context, url = multiprocessing.get_context("spawn"), f"{web.url}/film.mp4"
    pipes = [context.Pipe() for _ in range(2)]
    readers = [context.Process(target=_read_in_process, args=(url, end)) for _, end in pipes]
    for reader in readers:
        reader.start()
    assert all(pipe.recv() == web.files["/film.mp4"] for pipe, _ in pipes)
    for reader in readers:
        reader.join()
    assert web.sent == 400_000 + 2
    with (copies(tmp_path)[0].with_suffix("").with_suffix(".lock")).open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # Nobody holds it any more.
