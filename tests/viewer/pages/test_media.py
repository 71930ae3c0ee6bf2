import http.client
import json
import os
import re
import resource
import shutil
import time

import pytest

from apportion.viewer.bundle import write_bundle
from apportion.viewer.data.run_location import open_place
from apportion.viewer.labels.label import question_on
from apportion.viewer.labels.label_store import Overlay, overlay_beside
from tests.viewer import runs
from tests.viewer.runs import served
from tests.viewer.talks import with_media, write_talk_run


def ask(server, path, method="GET", **headers):
    """The status, the headers and the body of an answer to one who is let in."""
    answer = runs.ask(server, path, method, **headers)
    return answer.status, answer.headers, answer.body


def test_a_whole_recording_and_its_kind(talks, talk_run):
    status, headers, body = ask(talks, "media/talk/0")
    assert (status, headers["content-type"]) == (200, "video/mp4")
    assert body == (talk_run.parent / "corpus" / "ann.mp4").read_bytes()
    assert headers["x-content-type-options"] == "nosniff" and headers["cache-control"] == "no-store"
    status, headers, body = ask(talks, "media/talk/1", "HEAD")
    assert (status, headers["content-type"], body) == (200, "audio/wav", b"")
    assert headers["accept-ranges"] == "bytes"


@pytest.mark.parametrize(
    ("asked", "part"), [("bytes=0-3", slice(0, 4)), ("bytes=100-", slice(100, None)), ("bytes=-7", slice(-7, None))]
)
def test_a_part_of_a_recording(talks, talk_run, asked, part):
    whole = (talk_run.parent / "corpus" / "bob.wav").read_bytes()
    status, headers, body = ask(talks, "media/talk/1", Range=asked)
    assert status == 206 and body == whole[part]
    assert headers["content-range"].endswith(f"/{len(whole)}")


def test_several_parts_come_in_one_answer(talks, talk_run):
    whole = (talk_run.parent / "corpus" / "bob.wav").read_bytes()
    status, headers, body = ask(talks, "media/talk/1", Range="bytes=0-3,100-103,-5")
    assert status == 206 and headers["content-type"].startswith("multipart/byteranges")
    for part in (whole[:4], whole[100:104], whole[-5:]):
        assert b"\r\n\r\n" + part + b"\r\n" in body


def test_thousands_of_ranges_are_harmless(talks, talk_run):
    size = (talk_run.parent / "corpus" / "bob.wav").stat().st_size
    # As many as a header of 64 KiB holds: apart from each other, each the whole, and each beside the next.
    for many in (
        ",".join(f"{2 * n}-{2 * n}" for n in range(5000)),
        "0-," * 15_000 + "0-",
        ",".join(f"{n}-{n}" for n in range(5000)),
    ):
        status, _, body = ask(talks, "media/talk/1", Range=f"bytes={many}")
        assert status in (200, 206, 400, 416, 431) and len(body) <= 40 * size
    assert ask(talks, "media/talk/1", Range="bytes=0-1")[0] == 206


@pytest.mark.parametrize("asked", ["bytes=5-2", "bytes=x-y", "lines=0-1", "bytes=99999999-"])
def test_a_range_that_is_none_does_no_harm(talks, asked):
    status, headers, _ = ask(talks, "media/talk/1", Range=asked)
    assert status in (200, 400, 416)
    assert "99" not in asked or (status == 416 and headers["content-range"].startswith(("*/", "bytes */")))


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("media/gone/0", "no such file"),
        ("media/gone/1", "leads outside the corpus folder"),
        ("media/talk/2", "no such recording"),
        ("media/talk/-1", "no such recording"),
        ("media/nobody/0", "no such session"),
    ],
)
def test_what_is_not_in_the_corpus_is_not_found(talks, path, why):
    for address in (path, f"{path}/peaks"):
        status, _, body = ask(talks, address)
        assert status == 404 and why in body.decode()


def test_a_link_out_of_the_corpus_and_a_table_are_no_recordings(talks):
    slug = next(slug for slug in slugs(talks) if slug.startswith("wild"))
    status, _, body = ask(talks, f"media/{slug}/0")
    assert status == 404 and b"leads outside the corpus folder" in body
    status, _, body = ask(talks, f"media/{slug}/1")
    assert status == 404 and b"no such recording" in body


@pytest.mark.parametrize("path", ["talk/..%2f..%2fsecret.wav", "..%2f/0", "talk/0%00", "talk/1.5"])
def test_no_address_names_a_file(talks, path):
    status, _, body = ask(talks, f"media/{path}")
    assert status in (404, 422) and b"RIFF" not in body


def test_nobody_is_let_in_without_the_cookie(talks):
    assert ask(talks, "media/talk/0", Cookie="")[0] == 403


def test_how_loud_a_recording_is_over_time(talks):
    status, _, body = ask(talks, "media/talk/1/peaks")
    peaks = json.loads(body)
    assert status == 200 and peaks["length_s"] == pytest.approx(19.0, abs=0.1)
    assert len(peaks["peaks"]) == pytest.approx(20 * 19, abs=2) and 0.05 < max(peaks["peaks"]) <= 1.0


def test_two_gigabytes_are_streamed_and_not_read(tmp_path):
    run = write_talk_run(tmp_path)
    film = tmp_path / "corpus" / "ann.mp4"
    size = 2 * 2**30
    os.truncate(film, size)
    with served(run) as server:
        ask(server, "media/talk/0", Range="bytes=0-1")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        status, _, body = ask(server, "media/talk/0", Range=f"bytes={size - 5}-")
        assert status == 206 and body == bytes(5)
        connection = http.client.HTTPConnection(server.address.removeprefix("http://").rstrip("/"), timeout=30)
        connection.request("GET", "/media/talk/0", headers={"Cookie": f"{server.access.cookie}={server.access.pass_}"})
        answer = connection.getresponse()
        assert answer.status == 200 and int(answer.headers["content-length"]) == size
        answer.read(2**20)
        connection.close()  # As a browser does that seeks elsewhere.
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        assert after - before < 100 * 1024  # KiB
        assert ask(server, "media/talk/0", Range="bytes=0-1")[0] == 206


def test_a_corpus_that_is_deleted_while_it_is_served_is_told_and_its_words_stay(tmp_path, monkeypatch):
    monkeypatch.setattr("apportion.viewer.data.run.LOOK_S", 0.0)
    run = write_talk_run(tmp_path)
    with served(run) as server:
        assert ask(server, "media/talk/1", Range="bytes=0-1")[0] == 206
        shutil.rmtree(run.parent / "corpus")
        page, stop = "", time.monotonic() + 300
        while "cannot be read" not in page and time.monotonic() < stop:
            status, _, body = ask(server, "session/talk")
            page = body.decode()
            assert status == 200
        assert "The run has changed and cannot be read:" in page and "corpus: no such folder." in page
        assert 'id="turn-1"' in page, "what was said is shown still"
        for address in ("media/talk/1", "media/talk/1/peaks"):
            status, _, body = ask(server, address)
            assert status == 404 and b"no such file" in body
        assert ask(server, "")[0] == 200 and ask(server, "compare")[0] == 200


def slugs(server):
    with server.run.index.connect() as connection:
        return [row["slug"] for row in connection.execute("SELECT slug FROM sessions")]


WILD_NAMES = (
    "<script>alert(1)<",
    '"><img src=x onerror=alert(1)>.wav',
    "' onclick='alert(1).mp4",
    "javascript:alert(1).mp4",
    "\u202e4pm.exe",
    "a?b=c#d&e%2e%2e.wav",
)


@pytest.mark.parametrize("there", [True, False], ids=["there", "missing"])
def test_names_of_files_are_text_and_no_address_holds_one(talk_run, tmp_path, there):
    names = [f"script>/{name}" if name.startswith("<") else name for name in WILD_NAMES]
    run = with_media(talk_run, tmp_path, [(name, "ann", "video", None) for name in names])
    corpus = tmp_path / "all" / "corpus"
    for name in names if there else ():
        (corpus / name).parent.mkdir(exist_ok=True)
        (corpus / name).write_bytes(b"<html><script>alert(1)</script>")
    Overlay(overlay_beside(run)).ask(question_on("1 to 5"))
    with served(run) as running:
        for page in ("session/talk", "label/talk?who=eve&ask=landing"):
            status, _, body = ask(running, page)
            text = body.decode()
            assert status == 200 and "alert(1)>" not in text and "<script>alert" not in text and "\u202e" not in text
            sources = set(re.findall('<video [^>]*src="([^"]*)"', text))
            assert sources <= {f"../media/talk/{number}" for number in range(len(names))} and bool(sources) == there
        for number in range(len(names)):
            status, headers, body = ask(running, f"media/talk/{number}")
            assert (status == 200) == there or status == 404
            if status == 200:
                assert (
                    not headers["content-type"].startswith("text/") and headers["x-content-type-options"] == "nosniff"
                )
                assert "default-src 'self'" in headers["content-security-policy"]
    write_bundle(open_place(run), tmp_path / "out", media=True)
    text = (tmp_path / "out" / "session" / "talk.html").read_text()
    assert "alert(1)>" not in text and "<script>alert" not in text and "\u202e" not in text
    copied = {path.name for path in (tmp_path / "out" / "media").rglob("*") if path.is_file()}
    assert copied <= {str(number) for number in range(len(names))} and bool(copied) == there
