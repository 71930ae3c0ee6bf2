import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from apportion.corpus.corpus import Corpus
from apportion.corpus.schema import MEDIA
from tests.behaviour.command import ROOT, config, environment
from tests.behaviour.command import apportion as in_a_process
from tests.behaviour.small import write_small_corpus
from tests.features.clips import flat, tone, write_movie, write_wav
from tests.interrupts import hear_ctrl_c, ignore_ctrl_c

LABELS = 'corpus = "corpus"\noutput = "run"\n[decompose]\nmethod = "sentiment"\ncompare = ["uniform"]\n'


@pytest.fixture
def small(tmp_path) -> Path:
    write_small_corpus(tmp_path / "corpus", sessions=6)
    return config(tmp_path, LABELS)


def change(folder: Path, table: str, row: int, **values: object) -> None:
    """Change one row of a corpus table on disk."""
    path = folder / "corpus" / f"{table}.parquet"
    old = pq.read_table(path)
    rows = old.to_pylist()
    rows[row].update(values)
    pq.write_table(pa.Table.from_pylist(rows, schema=old.schema), path)


def rewarded(folder: Path) -> set[str]:
    return set(pq.read_table(folder / "run" / "rewards.parquet").column("session_id").to_pylist())


LLM = LABELS.replace('"sentiment"', '"llm"') + "[decompose.llm]\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('corpus = "nowhere"', ["nowhere"]),
        ('corpus = "empty"', ["no table 'sessions'", "import"]),
        ('corpus = "corpus"\n[decompose]\nmetod = "rrd"\n', ["did you mean 'method'"]),
        (LLM + 'allow_host = "api.openai.com"\n', ["OPENAI_API_KEY"]),
        (LLM + 'provider = "recorded"\n', ["recorded"]),
    ],
)
def test_what_cannot_be_run_is_told_before_any_work(small, tmp_path, apportion, monkeypatch, text, words):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (tmp_path / "empty").mkdir()
    done = apportion("run", "--only", "decompose", config(tmp_path, text))
    assert done.returncode == 2 and all(word in done.stderr for word in words) and "Traceback" not in done.stderr
    assert not (tmp_path / "run" / "rewards.parquet").exists()


@pytest.mark.parametrize(
    ("table", "row", "values", "words"),
    [
        ("ratings", 2, {"score": 99.0}, ["ratings", "score", "99", "1", "5"]),
        ("ratings", 2, {"score": float("nan")}, ["ratings", "score"]),
        ("ratings", 2, {"rater": "nobody"}, ["ratings", "rater", "nobody"]),
        ("utterances", 3, {"start_s": 5.0, "end_s": 2.0}, ["utterances", "end_s", "2"]),
    ],
)
def test_one_bad_row_costs_one_session(small, tmp_path, table, row, values, words, apportion):
    change(tmp_path, table, row, **values)
    done = apportion("run", "--only", "decompose", small)
    assert done.returncode == 1 and len(rewarded(tmp_path)) == 5
    assert all(word in done.stdout for word in words), done.stdout
    assert apportion("run", "--only", "decompose", small, "--allow-quarantine").returncode == 0
    quarantine = pq.read_table(tmp_path / "run" / "quarantine.parquet").to_pylist()
    assert [row["stage"] for row in quarantine] == ["check"]


def test_overlapping_ids(small, tmp_path, apportion):
    change(tmp_path, "sessions", 1, session_id="s00")
    done = apportion("run", "--only", "decompose", small)
    assert done.returncode in (1, 2) and all(word in done.stdout + done.stderr for word in ("s00", "sessions"))


def test_text_that_is_not_utf8_and_an_unknown_kind_of_corpus(tmp_path, apportion):
    source = tmp_path / "chat.jsonl"
    source.write_bytes(b'{"messages": [{"role": "user", "content": "caf\xe9"}], "score": 3}\n')
    done = apportion("import", "chat", source, tmp_path / "c", "-o", "low=1", "-o", "high=5")
    assert done.returncode == 2 and "chat.jsonl" in done.stderr and "UTF-8" in done.stderr
    done = apportion("import", "us", tmp_path, tmp_path / "c")
    assert done.returncode == 2 and "uss" in done.stderr


def broken_recordings(folder: Path) -> dict[str, Path]:
    """One recording of each broken kind, in the media folder of a corpus."""
    media = folder / "corpus" / "media"
    media.mkdir()
    good = write_movie(media / "good.mp4", [flat()] * 50, fps=10, sound=tone(5.0))
    whole = good.read_bytes()
    (media / "truncated.mp4").write_bytes(whole[: len(whole) // 2])
    (media / "empty.mp4").write_bytes(b"")
    silent = write_movie(media / "silent.mp4", [flat()] * 50, fps=10)
    renamed = write_wav(media / "sound.wav", tone(5.0))
    renamed.rename(media / "renamed.mp4")
    return {"good": good, "silent": silent}


def test_broken_recordings_cost_their_own_session_only(small, tmp_path, apportion):
    broken_recordings(tmp_path)
    corpus = Corpus.open(tmp_path / "corpus")
    spans = [(0.0, 1.0), (1.0, 2.0), (2.0, 2.5), (2.5, 3.0), (3.0, 3.5), (3.5, 4.0), (4.0, 4.9)]
    utterances = [
        {**row, "start_s": spans[row["turn"]][0], "end_s": spans[row["turn"]][1]}
        for row in corpus.utterances.to_pylist()
    ]
    names = ("good", "truncated", "empty", "silent", "renamed", "good")
    files = [(name, "audio" if name == "silent" else "video", 3600.0 * (n == 5)) for n, name in enumerate(names)]
    media = [
        {"session_id": f"s{n:02d}", "speaker": "user", "kind": kind, "path": f"media/{name}.mp4", "offset_s": offset_s}
        for n, (name, kind, offset_s) in enumerate(files)
    ]
    tables = {
        **corpus.tables,
        "utterances": pa.Table.from_pylist(utterances, schema=corpus.utterances.schema),
        "media": pa.Table.from_pylist(media, schema=MEDIA.arrow),
    }
    Corpus.of(tmp_path / "corpus", tables).write(tmp_path / "corpus")
    done = apportion("run", "--only", "verbalize", small)
    assert done.returncode == 1, done.stderr
    causes = {
        row["session_id"]: row["cause"]
        for row in pq.read_table(tmp_path / "run" / "quarantine.parquet").to_pylist()
        if row["stage"] in ("check", "features")
    }
    assert sorted(causes) == ["s01", "s02", "s03", "s04", "s05"]
    for n, name in enumerate(names[1:5], 1):
        assert f"{name}.mp4" in causes[f"s{n:02d}"]
    assert "zero bytes" in causes["s02"]
    assert "good.mp4 (user's video) runs from 3599.9 to 3605.1 s of the session (offset_s = 3600)" in causes["s05"]
    assert "the transcript's turns lie from 0.0 to 4.9 s" in causes["s05"]
    measured = pq.read_table(tmp_path / "run" / "utterance_features.parquet").column("session_id").to_pylist()
    assert set(measured) == {"s00"}


def test_a_transcript_of_another_session(small, tmp_path, apportion):
    change(tmp_path, "sessions", 0, duration_s=4.0)
    change(tmp_path, "utterances", 0, start_s=900.0, end_s=901.0)
    done = apportion("run", "--only", "decompose", small)
    assert done.returncode == 1
    assert "900" in done.stdout or "901" in done.stdout
    assert len(rewarded(tmp_path)) == 5


def test_an_output_that_is_a_file(small, tmp_path, apportion):
    (tmp_path / "run").write_text("in the way")
    done = apportion("run", "--only", "decompose", small)
    assert done.returncode == 2 and "cannot be written" in done.stderr


def test_two_runs_at_once_do_not_share_a_folder(small, tmp_path, apportion):
    import fcntl

    (tmp_path / "run").mkdir()
    with (tmp_path / "run" / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        done = apportion("run", "--only", "decompose", small)
    assert done.returncode == 2 and "in use by another run" in done.stderr


def decomposing(small, answer_to_ctrl_c):
    """`apportion run --only decompose` under way, in a process group of its own, as a terminal has one."""
    return subprocess.Popen(
        [sys.executable, "-m", "apportion", "run", "--only", "decompose", str(small)],
        env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True, preexec_fn=answer_to_ctrl_c,
    )  # fmt: skip


@pytest.mark.slow
def test_ctrl_c_keeps_what_is_finished(small, tmp_path):
    """SIGINT to the whole foreground group, as a terminal sends it."""
    write_small_corpus(tmp_path / "corpus", sessions=150)
    process = decomposing(small, hear_ctrl_c)
    store = tmp_path / "run" / "store" / "judge"
    deadline = time.monotonic() + 300
    while not any(store.glob("*/*/manifest.json")) and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 130 and "run the same command again" in errors and "Traceback" not in errors
    kept = len(list(store.glob("*/*/manifest.json")))
    assert kept > 0
    done = in_a_process("run", "--only", "decompose", small, "--json")
    assert done.returncode == 0
    units = json.loads(done.stdout)["units"]["judge"]
    assert units["reused"] >= kept
    assert units["reused"] + units.get("done", 0) == 300


@pytest.mark.slow
def test_a_run_in_the_background_hears_no_ctrl_c(small, tmp_path):
    """Started as a shell starts it behind `nohup` or `&`, with SIGINT ignored, it goes on to its end."""
    write_small_corpus(tmp_path / "corpus", sessions=100)
    process = decomposing(small, ignore_ctrl_c)
    store = tmp_path / "run" / "store" / "judge"
    while not any(store.glob("*/*/manifest.json")) and process.poll() is None:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0 or not sys.platform.startswith("linux"), reason="needs root to mount a tmpfs")
def test_a_full_disk_loses_nothing(small, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(disk)], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip(f"a tmpfs cannot be mounted here: {mounted.stderr.decode().strip()}")
    text = LABELS.replace('"run"', '"disk/run"')
    try:
        write_small_corpus(tmp_path / "corpus", sessions=40)
        done = in_a_process("run", "--only", "decompose", config(tmp_path, text))
        assert done.returncode == 2, done.stderr
        assert "no space left" in done.stderr and "Traceback" not in done.stderr
        kept = len(list(disk.glob("run/store/judge/*/*/manifest.json")))
        assert kept > 0
        subprocess.run(["mount", "-o", "remount,size=20m", str(disk)], check=True)
        done = in_a_process("run", "--only", "decompose", config(tmp_path, text), "--json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["units"]["judge"]["reused"] >= kept
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_corpus_without_variance_is_told_so_before_any_work(tmp_path, apportion):
    write_small_corpus(tmp_path / "corpus", sessions=6)
    path = tmp_path / "corpus" / "ratings.parquet"
    old = pq.read_table(path)
    rows = [{**row, "score": 3.0} for row in old.to_pylist()]
    pq.write_table(pa.Table.from_pylist(rows, schema=old.schema), path)
    done = apportion("run", config(tmp_path, LABELS), "--dry-run")
    assert "without variance" in done.stdout
    assert "too few to tell methods apart" in done.stdout
    assert not (tmp_path / "run" / "rewards.parquet").exists()


def test_a_path_that_leaves_the_corpus(small, tmp_path, apportion):
    shutil.copy(ROOT / "LICENSE", tmp_path / "secret.mp4")
    corpus = Corpus.open(tmp_path / "corpus")
    row = {"session_id": "s00", "speaker": "user", "kind": "video", "path": "../secret.mp4"}
    tables = {**corpus.tables, "media": pa.Table.from_pylist([row], schema=MEDIA.arrow)}
    Corpus.of(tmp_path / "corpus", tables).write(tmp_path / "corpus")
    done = apportion("run", "--only", "verbalize", small)
    assert done.returncode == 1 and "leaves the corpus folder" in done.stdout
