"""Corpora at URLs: as in a folder, seen anew when they change, whole or not there, and nobody's secret told."""

import json
import pickle
from contextlib import ExitStack
from multiprocessing import get_context

import pyarrow.parquet as pq
import pytest

from apportion.cli import main
from apportion.corpus.account import RECORD
from apportion.corpus.checks.recordings import path_fault
from apportion.corpus.corpus import Corpus
from apportion.corpus.importers.chats import row_groups
from apportion.corpus.importers.registry import import_to
from apportion.corpus.recordings import addresses, fetched, mirrored
from apportion.corpus.recordings.addresses import HOSTS, Remote
from apportion.corpus.recordings.fetched import SIZE
from apportion.corpus.recordings.mirrored import FOLDER, Mirror, about_of, address_in, in_words
from apportion.corpus.recordings.told import REPORT, told_before
from apportion.corpus.session import Media, Session
from apportion.features.media_io.media import locate, located
from apportion.foundation.errors import InputError, UnitError
from apportion.pipeline import assembly
from apportion.pipeline.config import load_config
from apportion.pipeline.engine.store import InputHashes
from apportion.pipeline.preflight import check_output
from apportion.pipeline.results.run_folder import corpus_place, recorded_corpus, remember_corpus
from tests.behaviour.command import config, in_process
from tests.behaviour.small import write_small_corpus
from tests.bucket_server import ENVIRONMENT, serving
from tests.corpus.recordings.web import serve

s3fs = pytest.importorskip("s3fs", reason="s3fs is not installed: pip install 'apportion[s3]'")
URL = "s3://bucket/data/chats"


@pytest.fixture(scope="module")
def serving_all():
    with serving() as made:
        yield made


@pytest.fixture
def server(serving_all, monkeypatch, tmp_path):
    serving_all.begin_anew()
    monkeypatch.setenv("APPORTION_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(fetched, "FIRST_WAIT_S", 0.0)
    monkeypatch.setattr(fetched, "_seen", {})
    monkeypatch.setattr(mirrored, "_known", {})
    monkeypatch.setattr(mirrored, "_held", {})
    with ExitStack() as holding:
        monkeypatch.setattr(mirrored, "_holding", holding)
        yield serving_all


@pytest.fixture
def corpus(server, tmp_path):
    """A small corpus in a folder, and in the bucket."""
    folder = tmp_path / "corpus"
    write_small_corpus(folder, sessions=4)
    put(folder)
    server.requests.clear()
    return folder


def files():
    return addresses.bucket_files("s3")


def put(folder, url=URL):
    for path in folder.iterdir():
        files().put_file(str(path), f"{url[5:]}/{path.name}")


def fails(*command, capsys):
    with pytest.raises(SystemExit) as ended:
        main(list(command))
    return ended.value.code, capsys.readouterr().err


def test_a_corpus_at_a_url_is_that_of_the_folder_and_is_fetched_once(server, corpus, monkeypatch):
    here, there = Corpus.open(corpus), Corpus.open(URL)
    assert {name: table.to_pylist() for name, table in there.tables.items()} == {
        name: table.to_pylist() for name, table in here.tables.items()
    }
    assert there.root.name == "chats" and (about_of(there.root) or {})["url"] == URL
    assert len([path for path in server.called("GET") if path.startswith("/bucket/data")]) == 4
    server.requests.clear()
    monkeypatch.setattr(mirrored, "_held", {})
    assert Corpus.open(f"{URL}/").root == there.root and len(server.requests) == 1  # a listing


def test_a_configuration_gives_the_keys_of_a_local_corpus_and_sees_a_change(server, corpus, tmp_path):
    def keys(place, name):
        path = tmp_path / name
        path.write_text(f'corpus = "{place}"\noutput = "run-{name}"\n[decompose]\nmethod = "sentiment"\n')
        assembly._kept.clear()
        engine = assembly.open_engine(load_config(path))
        units = {stage: engine.plan.units[stage] for stage in ("judge", "split")}
        return {(stage, unit.session_id): engine.key(stage, unit) for stage in units for unit in units[stage]}

    first = keys("corpus", "local.toml")
    assert len(first) == 5 and keys(URL, "remote.toml") == first
    write_small_corpus(corpus, sessions=4, exchanges=4)
    put(corpus)
    assert keys(URL, "remote.toml") == keys("corpus", "again.toml") != first


def test_a_configuration_looks_at_a_url_when_it_is_asked_for_and_keeps_what_it_saw(server, corpus, tmp_path):
    path = tmp_path / "c.toml"
    path.write_text(f'corpus = "{URL}/"\noutput = "run"\n[decompose]\nmethod = "sentiment"\n')
    loaded = load_config(path)
    other = loaded.with_run(workers=1)
    assert loaded.settings == other.settings == load_config(path).settings and not server.requests
    first = loaded.corpus
    assert first == Corpus.open(URL).root and server.requests
    write_small_corpus(corpus, sessions=5)
    put(corpus)
    assert other.corpus == first == pickle.loads(pickle.dumps(loaded)).corpus != load_config(path).corpus


def test_what_a_command_does_not_need_is_not_asked_for(server, tmp_path, monkeypatch):
    server.refuse = lambda method, path: 503
    path = config(tmp_path, f'corpus = "{URL}"\noutput = "run"\n[decompose]\nmethod = "sentiment"\n')
    told = in_process(monkeypatch, "status", path)
    assert (told.returncode, "nothing has been run into this folder" in told.stderr) == (2, True)
    assert in_process(monkeypatch, "init", URL, "--help").returncode == 0 and not server.requests
    done = in_process(monkeypatch, "run", path)
    told = f"{URL} could not be read, 5 times in a row"
    assert done.returncode == 1 and told in done.stderr and not (tmp_path / "run").exists()


def test_a_corpus_may_be_a_whole_bucket(server, corpus, tmp_path):
    put(corpus, "s3://bucket")
    there = Corpus.open("s3://bucket/")
    assert there.root.name == "bucket" and there.session_ids() == Corpus.open(corpus).session_ids()
    path = config(tmp_path, 'corpus = "s3://bucket"\noutput = "run"\n[decompose]\nmethod = "sentiment"\n')
    assert load_config(path).corpus == there.root


@pytest.mark.parametrize("store", ["s3://bucket", "s3://bucket/data", URL])
def test_a_bucket_that_holds_the_corpus_is_no_store(server, corpus, tmp_path, monkeypatch, store):
    text = f'corpus = "{URL}"\noutput = "run"\n[run]\nstore = "{store}"\n[decompose]\nmethod = "sentiment"\n'
    done = in_process(monkeypatch, "run", config(tmp_path, text))
    assert done.returncode == 2 and f"run.store = '{store}': the corpus {URL} lies there" in done.stderr
    assert not server.called("PUT")
    check_output(load_config(config(tmp_path, text.replace(f'store = "{store}"', f'store = "{URL}2"'))))


def test_a_run_and_a_moved_one_know_their_corpus_by_its_url(server, corpus, tmp_path):
    root = Corpus.open(URL).root
    assert corpus_place(root, tmp_path / "run") == URL
    assert recorded_corpus({"corpus": URL}, tmp_path) == root
    remember_corpus(root, tmp_path)
    assert recorded_corpus({"corpus": "gone"}, tmp_path) == root


def test_another_process_has_the_same_state_or_is_told(server, corpus, monkeypatch):
    mirror = mirrored.mirrored(URL)
    packed = pickle.dumps(mirror)
    with get_context("spawn").Pool(1) as pool:
        assert pool.map(str, [mirror]) == [str(mirror)]
    server.requests.clear()
    assert pickle.loads(packed) == mirror and repr(pickle.loads(packed)) == URL and not server.requests
    assert pickle.loads(pickle.dumps(mirror / "a")) == mirror / "a"
    monkeypatch.setenv("APPORTION_CACHE", str(corpus.parent / "another host"))
    other = pickle.loads(packed)
    assert other != mirror and (other / "sessions.parquet").read_bytes() == (corpus / "sessions.parquet").read_bytes()
    files().pipe_file(f"{URL[5:]}/ratings.parquet", b"")
    monkeypatch.setenv("APPORTION_CACHE", str(corpus.parent / "a third"))
    with pytest.raises(InputError, match=r"chats changed since the run began. Run the same command again"):
        pickle.loads(packed)


def test_recordings_stay_there_until_they_are_asked_for(server, corpus, tmp_path):
    films = files()
    films.pipe_file("bucket/data/chats/media/a b.mp4", b"film")
    films.pipe_file("bucket/data/chats/c.wav", b"sound")
    films.pipe_file(f"bucket/data/chats/{REPORT}", b'{"recordings": {"people": [], "chosen": ["the first film"]}}')
    root = Corpus.open(URL).root
    assert not [path for path in server.called("GET") if path.endswith((".mp4", ".wav"))]
    assert {path.name for path in root.iterdir()} == {REPORT, *(path.name for path in corpus.iterdir())}
    assert told_before(root).chosen == ("the first film",)  # whatever was fetched first
    assert address_in(root, "media/./a b.mp4") == f"{URL}/media/a%20b.mp4" and path_fault("media/a b.mp4", root) is None
    for path, content in (("media/a b.mp4", b"film"), ("c.wav", b"sound")):
        with located(root, path) as place:
            assert place.read_bytes() == content
        with pytest.raises(UnitError, match="an address; here recordings are read from the corpus folder"):
            locate(root, path)
    (corpus / "media").mkdir()
    (corpus / "media" / "a b.mp4").write_bytes(b"film")
    session = Session("s", (), (), (Media("ann", "video", "media/a b.mp4", 0.0, None),))
    hashes = {InputHashes(at, tmp_path / at.name).session(session, ("turns", "media")) for at in (root, corpus)}
    assert len(hashes) == 1
    assert address_in(corpus, "c.wav") == "c.wav" and address_in(root, "https://a/b.wav") == "https://a/b.wav"


@pytest.mark.parametrize("path", ["../c.wav", "/etc/passwd", "media/../../x.mp4"])
def test_a_recording_that_leaves_the_corpus_is_refused(server, corpus, path):
    root = Corpus.open(URL).root
    assert address_in(root, path) == path and "leaves the corpus" in (path_fault(path, root) or ("",))[0]
    with pytest.raises(UnitError, match="leads outside the corpus folder"), located(root, path):
        pass


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("s3://nobody/chats", "s3://nobody/chats: no such bucket. Check the address"),
        ("s3://bucket/empty", "s3://bucket/empty is not there. Check the address, and that something was put there"),
        ("s3://bucket/data", "s3://bucket/data: no table lies there. Name the folder with sessions.parquet"),
        ("s3://bucket", "s3://bucket: no table lies there. Name the folder with sessions.parquet"),
        ("s3://", "s3:// is no address of a file"),
        ("https://host", "https://host is no address of a file"),
        ("ftp://host/chats", "ftp://host/chats is no address that tables are read from; allowed are s3://"),
        ("s3://bucket/data/../data/chats", "leads out of its folder. Write the whole address"),
        ("s3://bucket/data/%2e%2e/chats", "leads out of its folder"),
        ("s3://ann:pw@bucket/chats", "holds a user, a query or a fragment"),
        (f"{URL}/sessions.parquet", f"{URL}/sessions.parquet is a file, and a corpus is a folder of tables"),
    ],
)
def test_what_cannot_be_a_corpus_is_told_by_its_url(server, capsys, url, words):
    files().pipe_file("bucket/data/chats/sessions.parquet", b"PAR1")
    code, told = fails("inspect", url, capsys=capsys)
    assert code == 2 and words in told and "cache" not in told and "pw" not in told


def test_no_access_no_package_and_a_server_that_fails_are_told(server, corpus, capsys, monkeypatch):
    server.refuse = lambda method, path: 403
    code, told = fails("inspect", URL, capsys=capsys)
    assert code == 2 and "may not be read: the credentials of the environment do not allow it" in told
    server.refuse = lambda method, path: 503 if path.endswith("ratings.parquet") else None
    code, told = fails("inspect", URL, capsys=capsys)
    assert code == 1 and "ratings.parquet could not be read, 5 times in a row" in told
    assert not [value for value in ENVIRONMENT.values() if value in told and "canary" in value.lower()]
    assert not (corpus.parent / "cache" / FOLDER).exists()
    monkeypatch.setattr(addresses, "find_spec", lambda name: None)
    code, told = fails("init", "gs://bucket/chats", capsys=capsys)
    assert code == 2 and "needs the package gcsfs. Install it with `pip install gcsfs`" in told
    code, told = fails("import", "chat", "x.json", "s3://bucket/new", capsys=capsys)
    assert code == 2 and "s3://bucket/new: a file or folder of this machine is needed" in told


def test_a_download_that_is_torn_leaves_no_half_table_and_goes_on(server, corpus, monkeypatch, tmp_path):
    monkeypatch.setattr(fetched, "RANGE", 50)
    asked: list[str] = []

    def refuse(method, path):
        asked.append(path)
        return 503 if len([one for one in asked if one.endswith("utterances.parquet")]) > 3 else None

    server.refuse = refuse
    with pytest.raises(UnitError, match=r"utterances.parquet could not be read"):
        Corpus.open(URL)
    assert not list((tmp_path / "cache" / FOLDER).glob("*"))
    parts = [path.stat().st_size for path in (tmp_path / "cache" / "media").glob("*.part")]
    assert parts == [150]
    server.refuse = lambda method, path: None
    server.requests.clear()
    assert Corpus.open(URL).tables["utterances"].to_pylist() == Corpus.open(corpus).tables["utterances"].to_pylist()
    size = (corpus / "utterances.parquet").stat().st_size
    assert len([one for one in server.called("GET") if one.endswith("utterances.parquet")]) == -(-size // 50) - 3


def test_a_folder_is_bounded_and_mirrors_whose_copies_are_gone_go_too(server, corpus, monkeypatch, tmp_path):
    mirrored.mirrored(URL)
    monkeypatch.setenv(SIZE, "1e-6")
    with pytest.raises(InputError, match=f"GB of tables, and copies may take 1e-06 GB. Set {SIZE} to more"):
        mirrored.mirrored(URL)
    monkeypatch.delenv(SIZE)
    monkeypatch.setattr(mirrored, "MOST_FILES", 2)
    with pytest.raises(InputError, match=r"4 files; at most 2 are read"):
        mirrored.mirrored(URL)
    monkeypatch.setattr(mirrored, "MOST_FILES", 99)
    mirrored._holding.close()
    for copy in (tmp_path / "cache" / "media").glob("*.copy"):
        copy.unlink()
    files().pipe_file(f"{URL[5:]}/ratings.parquet", b"")
    monkeypatch.setattr(mirrored, "_held", {})
    new = mirrored.mirrored(URL)
    assert [path.name for path in (tmp_path / "cache" / FOLDER).iterdir() if path.is_dir()] == [new.parent.name]


def test_names_that_no_file_may_have_and_a_folder_of_films_alone_are_refused(server):
    files().pipe_file("bucket/odd/.", b"1")
    files().pipe_file("bucket/long/" + "n" * 300, b"1")
    files().pipe_file("bucket/films/a.mp4", b"1")
    for folder, words in (("odd", "'.' is no name"), ("long", "is no name of a file here"), ("films", "no table lies")):
        with pytest.raises(InputError, match=words):
            mirrored.mirrored(f"s3://bucket/{folder}")


def test_a_cache_that_cannot_be_written_is_told(server, corpus, monkeypatch, tmp_path):
    def full(*asked):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(mirrored, "write_atomically", full)
    with pytest.raises(InputError, match=r"no corpus can be kept there \(No space left on device\)"):
        mirrored.mirrored(URL)


def test_what_is_in_no_mirror_is_called_by_its_path(server, corpus, tmp_path):
    mirror = mirrored.mirrored(URL)
    assert in_words(f"{mirror}/sessions.parquet: bad") == f"{URL}/sessions.parquet: bad"
    assert mirrored.named(corpus) == str(corpus) and repr(Mirror("/a")) == "/a"


def test_in_the_memory_of_a_process_too(server, corpus):
    import fsspec

    memory = fsspec.filesystem("memory")
    for path in corpus.iterdir():
        memory.pipe_file(f"/calls/{path.name}", path.read_bytes())
    first = Corpus.open("memory://calls")
    assert first.session_ids() == Corpus.open(corpus).session_ids()
    write_small_corpus(corpus, sessions=7)
    for path in corpus.iterdir():
        memory.pipe_file(f"/calls/{path.name}", path.read_bytes())
    assert len(Corpus.open("memory://calls").session_ids()) == 7 > len(list(first.iter_sessions())) == 4


def parquet_chats(path, chats):
    import pyarrow as pa

    ids = [f"c{number:05}" for number in range(chats) for _ in range(4)]
    table = pa.table(
        {
            "conversation_id": ids,
            "role": ["user", "assistant"] * (2 * chats),
            "content": [f"{name} says {turn} " + "words " * 40 for turn, name in enumerate(ids)],
            "score": [float(1 + number % 5) for number in range(chats) for _ in range(4)],
        }
    )
    pq.write_table(table, path, row_group_size=200, compression="none", use_dictionary=False)
    return path.stat().st_size


def test_a_parquet_data_set_at_a_url_is_read_by_row_group_in_order_and_never_held_whole(server, monkeypatch, tmp_path):
    import pyarrow as pa

    size = parquet_chats(tmp_path / "chats.parquet", 1000)
    files().put_file(str(tmp_path / "chats.parquet"), "bucket/sets/chats.parquet")
    monkeypatch.setattr(row_groups, "LARGE", 1000)
    monkeypatch.setattr(row_groups, "PART", 200)
    monkeypatch.setattr(fetched, "RANGE", 1 << 18)
    server.requests.clear()
    ranges: list[int] = []
    real = addresses.Bucket.copy

    def counted(self, file, start, end, remote: Remote):
        ranges.append(end - start)
        return real(self, file, start, end, remote)

    monkeypatch.setattr(addresses.Bucket, "copy", counted)
    read: list[int] = []
    group = row_groups._read_group

    def noted(one):
        read.append(one.number)
        return group(one)

    monkeypatch.setattr(row_groups, "_read_group", noted)
    before, most = pa.total_allocated_bytes(), []
    spy = row_groups.DataSet.parts

    def parts(self):
        for part in spy(self):
            most.append(pa.total_allocated_bytes() - before)
            yield part

    monkeypatch.setattr(row_groups.DataSet, "parts", parts)
    options = {"scale": "1..5"}
    report = import_to("chat", "s3://bucket/sets/chats.parquet", tmp_path / "out", options)
    assert report.rows["sessions"] == 1000 and sum(ranges) == size and max(ranges) == 1 << 18
    assert sorted(read) == read and set(read) == set(range(20))
    assert len(most) == 20 and max(most) < size / 3
    local = import_to("chat", tmp_path / "chats.parquet", tmp_path / "local", options)
    assert local.rows == report.rows
    names = sorted(path.name for path in (tmp_path / "local").glob("*.parquet"))
    assert names and all((tmp_path / "out" / n).read_bytes() == (tmp_path / "local" / n).read_bytes() for n in names)
    record = json.loads((tmp_path / "out" / RECORD).read_text())
    assert record["source"] == "s3://bucket/sets/chats.parquet"


def test_a_file_of_a_web_server_is_imported_and_one_without_a_stamp_is_fetched_anew(server, monkeypatch, tmp_path):
    monkeypatch.setenv(HOSTS, "127.0.0.1")
    turns = [{"role": role, "content": "hello"} for role in ("user", "assistant")]
    with serve() as web:
        web.tags["/chats.jsonl"] = ""
        for score in (3, 4):
            web.files["/chats.jsonl"] = (json.dumps({"id": "a", "messages": turns, "score": score}) + "\n").encode()
            monkeypatch.setattr(fetched, "_seen", {})
            import_to("chat", f"{web.url}/chats.jsonl", tmp_path / str(score), {"scale": "1..5"})
            assert Corpus.open(tmp_path / str(score)).ratings["score"].to_pylist() == [score]


def test_recordings_are_not_imported_from_a_url(server, corpus, tmp_path):
    with pytest.raises(InputError, match=rf"import media: {URL}: recordings come from a folder of this machine"):
        import_to("media", URL, tmp_path / "out")
