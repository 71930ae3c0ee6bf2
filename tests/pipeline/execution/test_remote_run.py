"""Whole runs whose store is a bucket: the bytes of a run in a folder, for all hosts, with nobody's secret anywhere."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from apportion.pipeline import assembly, shared_place
from apportion.pipeline.config import load_config
from apportion.pipeline.execution.cluster import complaints, identity
from apportion.pipeline.execution.orchestrator_state import as_decided
from apportion.pipeline.execution.shards import finish, list_shards, prepare, run_shard
from apportion.pipeline.shared_place import Bucket
from tests.behaviour.command import config, environment, in_process
from tests.behaviour.small import write_small_corpus
from tests.behaviour.test_kill import little_demo
from tests.bucket_server import ENVIRONMENT, serving

pytest.importorskip("s3fs", reason="s3fs is not installed: pip install 'apportion[s3]'")
TEXT = """corpus = "../corpus"
output = "run"
[run]
{}
last_stage = "decompose"
[decompose]
method = "sentiment"
compare = ["uniform"]
"""
STORE = 'store = "s3://bucket/run"'


@pytest.fixture(scope="module")
def serving_all():
    with serving() as made:
        yield made


@pytest.fixture
def server(serving_all):
    serving_all.begin_anew()
    return serving_all


@pytest.fixture
def host(tmp_path):
    """The configuration of a host by its name; the corpus alone is the same."""
    write_small_corpus(tmp_path / "corpus", sessions=6)

    def made(name, store=STORE, text=TEXT):
        (tmp_path / name).mkdir(exist_ok=True)
        return config(tmp_path / name, text.format(store))

    return made


def manifests(path):
    store = path.parent / "run" / "store"
    return {made.parent.relative_to(store): made.read_text() for made in store.rglob("manifest.json")}


def published(path):
    return {
        made.name: made.read_bytes() for made in (path.parent / "run").glob("*") if made.suffix in (".parquet", ".html")
    }


def test_hosts_that_share_a_bucket_make_what_a_folder_gets_and_each_unit_once(server, host, monkeypatch, capsys):
    here, one, other = host("here", ""), host("one"), host("other")
    for path in (here, one, other):
        done = in_process(monkeypatch, "run", path)
        assert done.returncode == 0, done.stderr
    assert manifests(one) == manifests(other) == manifests(here) and len(manifests(here)) == 17
    assert published(one) == published(other) == published(here) and "rewards.parquet" in published(here)
    assert "judge: 12 reused" in done.stderr and "done" not in done.stderr
    assert len([path for path in server.called("PUT") if "/artifacts/" in path]) == 17
    server.requests.clear()
    assert in_process(monkeypatch, "run", one).returncode == 0
    assert not [path for path in server.called("PUT") if "/artifacts/" in path]
    server.requests.clear()
    assert in_process(monkeypatch, "run", host("third"), "--dry-run").returncode == 0 and not server.called("PUT")


def test_any_host_tells_how_far_the_run_is_and_what_is_no_longer_used(server, host, monkeypatch):
    text = TEXT.replace("[decompose]", 'skip_stages = ["report"]\n[decompose]')
    one, other = host("one", text=text), host("other", text=text)
    assert in_process(monkeypatch, "run", one).returncode == 0
    answers = [in_process(monkeypatch, "status", path, "--json") for path in (one, one.parent / "run", other)]
    rows = [json.loads(done.stdout)["stages"] for done in answers]
    assert rows[0] == rows[1] == rows[2] and {row["stage"]: row["done"] for row in rows[2]}["judge"] == 12
    assert in_process(monkeypatch, "status", one, "--gc").stdout.startswith("0 artifacts")
    fewer = text.replace('["uniform"]', "[]")
    for path in (host("one", text=fewer), other):  # Other settings; a configuration elsewhere.
        refused = in_process(monkeypatch, "status", path, "--gc", "--delete")
        assert refused.returncode == 2 and "other settings" in refused.stderr
    assert in_process(monkeypatch, "run", one).returncode == 0
    before = len(Bucket("s3://bucket/run").names("artifacts"))
    done = in_process(monkeypatch, "status", one, "--gc", "--delete")
    assert "deleted" in done.stdout and "judge" in done.stdout
    gone = int(done.stdout.splitlines()[-1].split()[0])
    assert 6 <= gone == before - len(Bucket("s3://bucket/run").names("artifacts"))
    assert in_process(monkeypatch, "run", host("third")).returncode == 0  # makes anew what the others had done without


def test_what_runs_into_other_folders_use_is_kept(server, host, monkeypatch):
    one, other = host("one"), host("other", text=TEXT.replace('["uniform"]', '["uniform", "reaction"]'))
    for path in (one, other, one):
        assert in_process(monkeypatch, "run", path).returncode == 0
    before = Bucket("s3://bucket/run").names("artifacts")
    assert in_process(monkeypatch, "status", one, "--gc", "--delete").stdout.startswith("0 artifacts")
    assert Bucket("s3://bucket/run").names("artifacts") == before
    host("other")
    for path in (other, one):  # Now nobody uses what that method made.
        assert in_process(monkeypatch, "run", path).returncode == 0
    done = in_process(monkeypatch, "status", one, "--gc", "--delete").stdout
    assert int(done.splitlines()[-1].split()[0]) == len(before) - len(Bucket("s3://bucket/run").names("artifacts")) > 0
    assert "reused" in in_process(monkeypatch, "run", other).stderr
    assembly._kept.clear()
    assembly.open_engine(load_config(other)).begin(["judge"])
    assert in_process(monkeypatch, "run", one).returncode == 0
    refused = in_process(monkeypatch, "status", one, "--gc", "--delete")
    assert refused.returncode == 2 and f"the run into {other.parent / 'run'} on " in refused.stderr
    assert "has begun and not ended" in refused.stderr and "delete uses/" in refused.stderr


def test_failures_are_seen_by_all_hosts_and_forgotten_once_the_unit_is_made(server, host, monkeypatch):
    from apportion.pipeline.stages.registry import STAGES

    one, other = host("one"), host("other")
    with monkeypatch.context() as patched:
        real = STAGES["judge"].fn

        def fails(inputs, config, work):
            if inputs.unit.session_id == "s03":
                raise ValueError("no such word")
            return real(inputs, config, work)

        patched.setitem(STAGES["judge"].__dict__, "fn", fails)
        assert in_process(monkeypatch, "run", one).returncode == 1
        assembly._kept.clear()
        engine = assembly.open_engine(load_config(other))
        assert [(o.unit.session_id, o.status) for o in engine.failures()] == [("s03", "failed")] * 2
        assert "no such word" in in_process(monkeypatch, "status", other).stdout
    assert in_process(monkeypatch, "run", other).returncode == 0
    assert Bucket("s3://bucket/run").names("failures") == {}


def test_a_store_that_stops_answering_ends_the_run_and_the_same_command_goes_on(server, host, monkeypatch):
    monkeypatch.setattr(shared_place, "WAITS_S", (0.001,) * 3)
    here, one = host("here", ""), host("one")
    server.refuse = lambda method, path: 503 if len(server.requests) % 4 == 0 else None  # now and then
    assert in_process(monkeypatch, "run", one).returncode == 0
    server.begin_anew()
    server.refuse = lambda method, path: 503 if "/judge/" in path and len(server.requests) > 25 else None
    two = host("two")
    stopped = in_process(monkeypatch, "run", two)
    assert stopped.returncode == 1 and "Traceback" not in stopped.stderr
    assert stopped.stderr.splitlines()[-1].startswith("error: s3://bucket/run: the store does not do its part")
    assert 0 < len(manifests(two)) < 17
    server.refuse = lambda method, path: None
    again = in_process(monkeypatch, "run", two)
    assert again.returncode == 0 and "reused" in again.stderr
    in_process(monkeypatch, "run", here)
    assert manifests(two) == manifests(one) == manifests(here)


@pytest.mark.parametrize(
    "url", ["s3://nosuch/run", "s3://bucket:{}@host/run", "s3://bucket/run?secret={}", "memory://m"]
)
def test_a_store_that_cannot_be_used_is_told_before_any_work_without_its_secret(server, host, monkeypatch, url):
    path = host("one", f'store = "{url.format("pw-canary")}"')
    done = in_process(monkeypatch, "run", path)
    assert done.returncode == 2 and "run.store" in done.stderr and "pw-canary" not in done.stdout + done.stderr
    assert not list((path.parent / "run").rglob("manifest.json"))


def test_no_credential_is_in_any_file_or_word(server, host, monkeypatch):
    monkeypatch.setattr(shared_place, "WAITS_S", ())
    one = host("one")
    runs = [in_process(monkeypatch, "run", one), in_process(monkeypatch, "status", one)]
    server.refuse = lambda method, path: 403 if method == "PUT" else None
    runs.append(in_process(monkeypatch, "run", one))
    assert [run.returncode for run in runs] == [0, 0, 2]
    server.refuse = lambda method, path: None
    said = "".join(run.stdout + run.stderr for run in runs).encode()
    bucket = Bucket("s3://bucket/run")
    there = [bucket.read(name) for folder in ("artifacts", "activity") for name in bucket.names(folder)]
    files = [path.read_bytes() for path in one.parent.rglob("*") if path.is_file()]
    assert len(there) > 20 and len(files) > 40
    for secret in (ENVIRONMENT[name].encode() for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")):
        assert not [True for content in (said, *there, *files) if secret in content]


def test_tasks_of_an_orchestrator_on_hosts_without_a_common_folder(server, host, monkeypatch):
    one, other = str(host("one")), str(host("other"))
    prepare(one)
    assert Bucket("s3://bucket/run").read("decided.json") is not None
    assert as_decided(load_config(other)).features.auto_detector == as_decided(load_config(one)).features.auto_detector
    for stage in ("split", "judge", "rewards", "slices", "report"):
        for shard in list_shards(one, stage, 2):
            assembly._kept.clear()
            run_shard((one, other)[shard % 2], stage, shard, 2)
    assert finish(other)["quarantined"] == 0
    assert finish(one)["judge"] == 12 and manifests(Path(one)) == manifests(Path(other))
    assert published(Path(one)) == published(Path(other))


def test_a_worker_says_that_it_cannot_use_the_store_and_needs_no_common_folder(server, tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    (tmp_path / "corpus").mkdir()
    worker = type("Worker", (), {"state": type("State", (), {"nthreads": 1})})
    asked = (identity(), tmp_path / "run" / ".probe", tmp_path / "corpus", [], 1)
    assert complaints(*asked, "s3://bucket/run", worker) == []
    assert "no such bucket" in complaints(*asked, "s3://nosuch/run", worker)[0]
    assert (tmp_path / "run").is_dir() and not list((tmp_path / "run").iterdir())


@pytest.mark.slow
def test_the_demo_on_a_bucket_is_the_demo_in_a_folder(server, tmp_path):
    """Two worker processes; another output folder on the same bucket makes nothing."""
    done = {}
    for name, store in (("here", ""), ("one", STORE), ("other", STORE)):
        path = tmp_path / f"{name}.toml"
        path.write_text(little_demo().format(output=f"{name}/run").replace("[run]\n", f"[run]\nworkers = 2\n{store}\n"))
        command = [sys.executable, "-m", "apportion", "run", str(path)]
        done[name] = subprocess.run(
            command, env=environment(), capture_output=True, text=True, timeout=900, check=False
        )
        assert done[name].returncode == 0, done[name].stderr
    of = {name: manifests(tmp_path / name / "toml") for name in done}
    assert of["here"] == of["one"] == of["other"] and len(of["here"]) > 60
    assert "reused" in done["other"].stderr and " done" not in done["other"].stderr
