"""Artifacts in a bucket: shared by hosts, whole or not at all whatever befalls an upload, never a stranger's files."""

import errno
import io
import json
import multiprocessing
import os
import shutil
import signal
import sys
import tarfile
import threading
from contextlib import suppress
from functools import partial
from itertools import count
from types import SimpleNamespace

import pyarrow as pa
import pytest

from apportion.pipeline import shared_place
from apportion.pipeline.engine.progress import Activity, entries
from apportion.pipeline.engine.remote_store import MARK, RemoteStore
from apportion.pipeline.engine.store import MANIFEST
from apportion.pipeline.shared_place import Bucket, StoreError
from tests.bucket_server import serving

s3fs = pytest.importorskip("s3fs", reason="s3fs is not installed: pip install 'apportion[s3]'")
URL, KEY = "s3://bucket/run", "a" * 64
OBJECT = f"bucket/run/artifacts/stage/{KEY}.tar"


@pytest.fixture(scope="module")
def serving_all():
    with serving() as made:
        yield made


@pytest.fixture
def server(serving_all):
    serving_all.begin_anew()
    return serving_all


def host(folder, **more):
    """What a process of a host has: a copy of its own."""
    return RemoteStore(folder / "store", Bucket(URL), **more)


def commit(store, **documents):
    scratch = store.scratch()
    (scratch / "model").mkdir()
    (scratch / "model" / "weights.bin").write_bytes(bytes(20_000))
    return store.commit("stage", KEY, scratch, {"t": pa.table({"a": [1, 2]})}, documents or {"d": {"x": 1.5}})


def content(artifact):
    assert artifact.intact()
    return {name: (artifact.folder / name).read_bytes() for name in sorted(artifact.files)}


def files():
    return s3fs.S3FileSystem(skip_instance_cache=True, use_listings_cache=False)


def test_what_one_host_makes_another_fetches(server, tmp_path):
    made = commit(host(tmp_path / "a"))
    server.requests.clear()
    other = host(tmp_path / "b")
    found = other.find("stage", KEY)
    assert content(found) == content(made) and found.output_hash == made.output_hash
    assert sorted(found.files) == ["d.json", "model/weights.bin", "t.parquet"] and found.document("d") == {"x": 1.5}
    assert len(server.requests) == 3  # a listing, the artifact, which bucket it is
    server.requests.clear()
    assert host(tmp_path / "b").find("stage", KEY) and len(server.requests) == 1
    assert not list((tmp_path / "b" / "store" / "tmp").iterdir())


def test_what_is_missing_is_known_by_one_listing_until_it_is_looked_anew(server, tmp_path):
    store, other = host(tmp_path / "a"), host(tmp_path / "b")
    assert [store.find("stage", f"{number:064}") for number in range(9)] == [None] * 9
    assert len(server.requests) == 1
    commit(other)
    assert store.find("stage", KEY) is None
    store.bucket.look_anew()
    assert store.find("stage", KEY) is not None


def test_what_was_made_without_the_bucket_is_uploaded_once_and_by_who_only_looks_not(server, tmp_path):
    made = commit(host(tmp_path / "a"))
    files().rm("bucket/run", recursive=True)  # emptied: what is marked as being there is not
    assert host(tmp_path / "a", looks_only=True).find("stage", KEY) is not None and not files().exists(OBJECT)
    assert content(host(tmp_path / "a").find("stage", KEY)) == content(made)
    assert content(host(tmp_path / "b").find("stage", KEY)) == content(made)
    server.requests.clear()
    host(tmp_path / "a").find("stage", KEY)
    assert server.called("PUT") == []


def test_what_was_uploaded_by_a_process_that_was_killed_then_is_not_put_again(server, tmp_path):
    made = commit(host(tmp_path / "a"))
    (made.folder / MARK).unlink()
    server.requests.clear()
    found = host(tmp_path / "a").find("stage", KEY)
    assert content(found) == content(made) and server.called("PUT") == []
    server.requests.clear()
    host(tmp_path / "a").find("stage", KEY)
    assert len(server.requests) == 1  # which bucket it is


def test_equal_artifacts_are_equal_objects(server, tmp_path):
    commit(host(tmp_path / "a"))
    first = files().cat_file(OBJECT)
    files().rm(OBJECT)
    commit(host(tmp_path / "b"))
    assert files().cat_file(OBJECT) == first


def test_two_writers_at_once_both_have_what_the_bucket_had_first(server, tmp_path):
    stores = [host(tmp_path / name) for name in "abcd"]
    together, made = threading.Barrier(len(stores)), {}

    def write(number, store):
        together.wait()
        made[number] = commit(store, d={"said": number})

    threads = [threading.Thread(target=write, args=pair) for pair in enumerate(stores)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({made[number].document("d")["said"] for number in range(len(stores))}) == 1
    kept = content(host(tmp_path / "e").find("stage", KEY))
    assert all(content(host(tmp_path / name).find("stage", KEY)) == kept for name in "abcd")


def test_what_an_upload_left_behind_is_replaced_by_what_another_host_has_made(server, tmp_path, monkeypatch):
    monkeypatch.setattr(shared_place, "WAITS_S", ())
    server.refuse = lambda method, path: 503 if method == "PUT" else None
    with pytest.raises(StoreError, match="What is finished is kept"):
        commit(host(tmp_path / "a"), d={"said": "a"})
    server.refuse = lambda method, path: None
    commit(host(tmp_path / "b"), d={"said": "b"})
    assert host(tmp_path / "a").find("stage", KEY).document("d") == {"said": "b"}
    assert host(tmp_path / "b").find("stage", KEY).document("d") == {"said": "b"}


def packed(members, manifest=None):
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as tar:
        for name, raw in ({MANIFEST: manifest} if manifest is not None else {}).items() | members.items():
            member = raw if isinstance(raw, tarfile.TarInfo) else tarfile.TarInfo(name)
            member.size = 0 if raw is member else len(raw)
            tar.addfile(member, None if raw is member else io.BytesIO(raw))
    return target.getvalue()


def link(name, to, kind=tarfile.SYMTYPE):
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, to
    return member


EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
HOSTILE = {
    "empty": b"",
    "no tar": b"x" * 2000,
    "no manifest": packed({"d.json": b"{}"}),
    "manifest of another kind": packed({}, b"[]"),
    "files of another kind": packed({}, b'{"files": [1]}'),
    "outside": packed({"../../escaped": b""}, json.dumps({"files": {"../../escaped": EMPTY}}).encode()),
    "absolute": packed({"/tmp/escaped": b""}, json.dumps({"files": {"/tmp/escaped": EMPTY}}).encode()),
    "names what is elsewhere": packed({}, json.dumps({"files": {"/dev/null": EMPTY}}).encode()),
    "names less than there is": packed({"d.json": b"{}"}, b'{"files": {}}'),
    "other bytes": packed({"d.json": b"{}"}, json.dumps({"files": {"d.json": EMPTY}}).encode()),
    "link": packed({"d.json": link("d.json", "/etc/passwd")}, json.dumps({"files": {"d.json": EMPTY}}).encode()),
    "hard link": packed({"d": link("d", MANIFEST, tarfile.LNKTYPE)}, json.dumps({"files": {"d": EMPTY}}).encode()),
    "device": packed({"d": link("d", "", tarfile.CHRTYPE)}, json.dumps({"files": {"d": EMPTY}}).encode()),
    "file and folder": packed({"d": b"", "d/e": b""}, json.dumps({"files": {"d": EMPTY, "d/e": EMPTY}}).encode()),
    "long name": packed({"d" * 300: b""}, json.dumps({"files": {"d" * 300: EMPTY}}).encode()),
    "names what is too long": packed({}, json.dumps({"files": {"d" * 5000: EMPTY}}).encode()),
    "deep manifest": packed({}, b"[" * 100_000),
    "huge manifest": packed({}, b'{"files": {}}' + b" " * (1 << 24)),
}


@pytest.mark.parametrize("hostile", HOSTILE)
def test_a_damaged_or_hostile_object_is_no_artifact_and_is_made_anew(server, tmp_path, hostile):
    files().pipe_file(OBJECT, HOSTILE[hostile])
    store = host(tmp_path / "deep" / "er")
    assert store.find("stage", KEY) is None
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
    made = commit(store)
    assert content(host(tmp_path / "b").find("stage", KEY)) == content(made)


@pytest.mark.parametrize("byte", [0, 600, 1600, -1])
def test_damage_anywhere_in_an_object_is_found_out(server, tmp_path, byte):
    made = content(commit(host(tmp_path / "a")))
    whole = files().cat_file(OBJECT)
    files().pipe_file(OBJECT, whole[:byte] + bytes([whole[byte] ^ 255]) + whole[byte:][1:])
    found = host(tmp_path / "b").find("stage", KEY)
    assert found is None or content(found) == made  # the last byte is the tar's padding
    files().pipe_file(OBJECT, whole[: len(whole) // 2])
    assert host(tmp_path / "c").find("stage", KEY) is None


def test_a_copy_that_is_damaged_here_is_fetched_again(server, tmp_path):
    made = commit(host(tmp_path / "a"))
    before = content(made)
    (made.folder / "d.json").write_text("{")
    assert content(host(tmp_path / "a").find("stage", KEY)) == before


def test_removing_and_what_is_kept_are_of_both_places(server, tmp_path):
    commit(host(tmp_path / "a"))
    other = host(tmp_path / "b")
    assert other.kept("stage").keys() == {KEY} and other.kept("stage")[KEY] > 1000
    other.remove("stage", KEY)
    assert other.kept("stage") == {} and not files().exists(OBJECT)
    assert host(tmp_path / "a").kept("stage").keys() == {KEY}


CALLS = ("put_file", "get_file", "pipe_file", "find", "cat_ranges", "rm")


def publish_in_process(folder, kind="", nth=0):
    """The same in a process, which may be killed; then None."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, "s3fs", "aiobotocore.session"])
    environment = {name: value for name, value in os.environ.items() if name.startswith("AWS_")}
    process = context.Process(target=_publish, args=(folder, kind, nth, environment))
    process.start()
    process.join()
    assert process.exitcode in (-signal.SIGKILL, *range(100)), (kind, nth, process.exitcode)
    return None if process.exitcode < 0 else process.exitcode


def _publish(folder, kind, nth, environment):
    os.environ |= environment
    shared_place.WAITS_S = ()
    sys.exit(publish(folder, kind, nth))


def publish(folder, kind="", nth=0):
    """What a unit does to the bucket; how many calls that are. The nth fails by its kind."""
    store, numbers = host(folder), count(1)
    files = store.bucket._files

    def counted(name, *given, **more):
        call = getattr(files, name)
        if next(numbers) != nth:
            return call(*given, **more)
        if kind == "error":
            raise OSError(errno.EIO, "Input/output error")
        if name == "put_file":  # as a store would that does not take files whole
            os.truncate(given[0], os.path.getsize(given[0]) // 2)  # noqa: PTH202
            call(*given, mode="overwrite")
        return os.kill(os.getpid(), signal.SIGKILL)

    calls = {name: partial(counted, name) for name in CALLS}
    store.bucket._files = SimpleNamespace(_strip_protocol=files._strip_protocol, **calls)
    activity = Activity(store.bucket)
    with suppress(StoreError):
        activity.begin({"stage": 1})
        with activity.unit("stage", "s1") as ended:
            if store.find("stage", KEY) is None:
                commit(store)
            store.bucket.remove("failures/stage/1.json", "failures")
            ended |= {"status": "done"}
        store.bucket.flush()
    return next(numbers) - 1


KINDS = {"error": publish, "kill": publish_in_process}


@pytest.mark.parametrize("kind", ["error", pytest.param("kill", marks=pytest.mark.slow)])  # a process for each call
def test_the_next_run_mends_whatever_call_to_the_bucket_has_failed(server, tmp_path, kind, monkeypatch):
    monkeypatch.setattr(shared_place, "WAITS_S", ())
    expected = content(commit(host(tmp_path / "expected")))
    befallen = 0
    for nth in count(1):
        files().rm("bucket/run", recursive=True)
        Bucket(URL).write("failures/stage/1.json", "{}")
        shutil.rmtree(tmp_path / "a", ignore_errors=True)
        shutil.rmtree(tmp_path / "b", ignore_errors=True)
        calls = KINDS[kind](tmp_path / "a", kind, nth)
        if calls is not None and calls < nth:
            break
        befallen += 1
        halfway = host(tmp_path / "b").find("stage", KEY)
        assert halfway is None or content(halfway) == expected, (kind, nth)
        again = publish(tmp_path / "a")
        assert again is not None, (kind, nth)
        assert [content(host(tmp_path / name).find("stage", KEY)) for name in "ab"] == [expected] * 2, (kind, nth)
        assert [entry.status for entry in entries(Bucket(URL))] == ["done"]
        assert Bucket(URL).names("failures") == {}
    print(f"{kind}: {befallen} calls")
    assert befallen >= 9
