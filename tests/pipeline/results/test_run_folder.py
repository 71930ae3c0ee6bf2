"""Opening a finished run: what is refused, and why; how its sessions' files are called."""

import json
import shutil
from pathlib import Path

import pytest

from apportion.corpus.corpus import Corpus
from apportion.foundation.errors import InputError
from apportion.pipeline.results.run_folder import RunFolder, corpus_place, open_run, session_file_name
from tests.pipeline.results.measured_run import write_measured_run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_measured_run(tmp_path)


def opened(folder: Path, source: str = "config.toml") -> RunFolder:
    return open_run(folder / source, None)


def test_one_session_s_rows_of_a_table(folder):
    run = opened(folder)
    measured = run.corpus.session_ids()
    tables = {name: run.table("utterance_features", name) for name in measured}
    assert sum(len(rows) for rows in tables.values()) > 0
    assert {name for rows in tables.values() for name in rows["session_id"].to_pylist()} <= set(measured)
    assert run.table("rewards", measured[0]) is None and run.frames("nobody") is None
    assert run.reply_max_s == 10.0


def test_other_utterances_are_refused(folder):
    corpus = Corpus.open(folder / "corpus")
    tables = {**corpus.tables, "utterances": corpus.utterances.slice(1)}
    Corpus.of(folder / "corpus", tables).write(folder / "corpus")
    with pytest.raises(InputError, match=r"utterances\.parquet: not the utterances that the run .* was made from"):
        opened(folder)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"config": {"features": {"reply_max_s": "x"}}, "inputs": {}}'])
def test_a_damaged_record_is_named(folder, text):
    (folder / "run" / "run.json").write_text(text)
    with pytest.raises(InputError, match=r"run\.json: not the record of a run"):
        opened(folder)


def test_a_record_that_cannot_be_read(folder):
    (folder / "run" / "run.json").unlink()
    (folder / "run" / "run.json").mkdir()
    with pytest.raises(InputError, match=r"run\.json: cannot be read"):
        opened(folder)


def test_what_is_no_run_is_refused(folder):
    shutil.rmtree(folder / "run")
    with pytest.raises(InputError, match=r"nothing has been run into this folder"):
        opened(folder)
    with pytest.raises(InputError, match=r"no such file"):
        opened(folder, "none.toml")
    (folder / "run").mkdir()
    with pytest.raises(InputError, match=r"nothing has been run into this folder.*Run `apportion run CONFIG` first"):
        open_run(folder / "run", None)


def test_runs_in_a_folder_that_is_none_are_named(folder, tmp_path):
    runs = [tmp_path / "runs" / f"run{number}" for number in range(7)]
    for run in runs:
        shutil.copytree(folder / "run", run)
    with pytest.raises(InputError, match=r"nothing has been run into this folder\. Name a run in it: (.*)\.$") as told:
        open_run(tmp_path / "runs", None)
    assert str(told.value).endswith(f": {', '.join(map(str, runs[:5]))} and 2 more.")
    shutil.rmtree(runs[0])
    shutil.rmtree(runs[1])
    with pytest.raises(InputError, match=r"run6\.$"):
        open_run(tmp_path / "runs", None)


def test_the_record_says_where_the_corpus_is_and_another_goes_before_it(folder):
    path = folder / "run" / "run.json"
    record = json.loads(path.read_text())
    with pytest.raises(InputError, match=r"older version, which does not say .* Add --corpus FOLDER"):
        open_run(folder / "run", None)
    assert open_run(folder / "run", folder / "corpus").corpus.root == folder / "corpus"
    path.write_text(json.dumps({**record, "corpus": corpus_place(folder / "corpus", folder / "run")}))
    assert open_run(folder / "run", None).corpus.session_ids() == opened(folder).corpus.session_ids()
    (folder / "corpus").rename(folder / "elsewhere")
    with pytest.raises(InputError, match=r"its corpus was at .*corpus, where there is no folder now"):
        open_run(folder / "run", None)
    assert open_run(folder / "run", folder / "elsewhere").corpus.root == folder / "elsewhere"


def test_run_and_corpus_can_be_moved_together(folder):
    path = folder / "run" / "run.json"
    record = json.loads(path.read_text())
    path.write_text(json.dumps({**record, "corpus": corpus_place(folder / "corpus", folder / "run")}))
    shutil.move(folder, folder.with_name("moved"))
    assert open_run(folder.with_name("moved") / "run", None).corpus.session_ids()


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/b", ".", "..", "con/..", "x" * 300, "nul\0"])
def test_a_session_id_never_leaves_the_folder(name):
    safe = session_file_name(name)
    assert "/" not in safe and "\0" not in safe and not safe.startswith(".")
    assert len(safe) <= 200


def test_different_sessions_have_different_files():
    names = ["a/b", "a%2Fb", "a.b", "x" * 300, "x" * 301]
    assert len({session_file_name(name) for name in names}) == len(names)
