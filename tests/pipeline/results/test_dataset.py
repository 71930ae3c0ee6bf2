"""A run's rewards as a dataset, written by the command and read back by `datasets` itself."""

import json
import math
import os
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from apportion.cli import main
from apportion.pipeline.config import load_config
from apportion.pipeline.execution.local import run_locally
from tests.behaviour.command import config, without_workers
from tests.behaviour.small import write_small_corpus

TEXT = """corpus = "corpus"
output = "run"
[run]
workers = 1
[decompose]
method = "sentiment"
compare = ["uniform"]
target = "score"
"""


def export(capsys, *arguments):
    code = 0
    try:
        main(["export", *(str(argument) for argument in arguments)])
    except SystemExit as end:
        code = end.code
    return code, *capsys.readouterr()


def command(folder, *more):
    return (folder / "config.toml", "--format", "dataset", "--out", folder / "out", *more)


def read(folder, cache):
    from datasets import load_dataset

    return load_dataset(str(folder / "out"), cache_dir=str(cache))


def test_datasets_reads_what_was_written(folder, tmp_path, capsys):
    code, out, _ = export(capsys, *command(folder))
    assert code == 0
    assert f'next: datasets.load_dataset("{folder / "out"}")' in out
    loaded = read(folder, tmp_path / "cache")
    split = pq.read_table(folder / "run" / "splits.parquet").to_pylist()
    assert set(loaded) == {row["split"] for row in split}
    of_split = {row["session_id"]: row["split"] for row in split}
    rewards = pq.read_table(folder / "run" / "rewards.parquet").to_pylist()
    expected = {(row["session_id"], row["method"], row["turn"]): row["reward"] for row in rewards}
    for name, part in loaded.items():
        for row in part:
            assert of_split[row["session_id"]] == name
            assert len(row["messages"]) == len(row["rewards"]) == len(row["speakers"])
            for turn, (message, reward) in enumerate(zip(row["messages"], row["rewards"], strict=True)):
                assert reward == expected.pop((row["session_id"], row["method"], turn), None)
                assert (message["role"] == "assistant") == (reward is not None) == (row["speakers"][turn] == "bot")
            credited = [reward for reward in row["rewards"] if reward is not None]
            assert math.fsum(credited) == pytest.approx(row["score"])
    assert expected == {}


def test_one_method_and_some_sessions(folder, tmp_path, capsys):
    code, out, _ = export(capsys, *command(folder, "--method", "sentiment", "--session", "s01", "--json"))
    assert code == 0
    assert list(json.loads(out)["rows"].values()) == [1]
    (part,) = read(folder, tmp_path / "cache").values()
    assert [(row["session_id"], row["method"]) for row in part] == [("s01", "sentiment")]


def test_the_text_is_the_corpus_s(folder, tmp_path, capsys):
    export(capsys, *command(folder))
    spoken = {}
    for row in pq.read_table(folder / "corpus" / "utterances.parquet").to_pylist():
        spoken.setdefault(row["session_id"], []).append(row["text"])
    for part in read(folder, tmp_path / "cache").values():
        for row in part:
            assert [message["content"] for message in row["messages"]] == spoken[row["session_id"]]


def test_a_second_export_leaves_equal_files_and_keeps_others(folder, capsys):
    export(capsys, *command(folder))
    code, out, _ = export(capsys, *command(folder))
    assert (code, out.splitlines()[0].startswith("wrote 0 files")) == (0, True)
    card = folder / "out" / "README.md"
    card.write_text("my own notes")
    code, out, _ = export(capsys, *command(folder))
    assert code == 1
    assert "kept: README.md, which differ" in out
    assert card.read_text() == "my own notes"
    assert export(capsys, *command(folder, "--force"))[0] == 0
    assert card.read_text() != "my own notes"


@pytest.mark.parametrize(
    ("break_it", "more", "problem"),
    [
        (
            lambda f: (f / "run/rewards.parquet").unlink(),
            (),
            r"the run has no rewards yet\. Run `apportion run CONFIG --only decompose",
        ),
        (lambda f: (f / "run/splits.parquet").unlink(), (), "the run has no splits yet"),
        (lambda f: (f / "run/rewards.parquet").write_text("no"), (), "rewards.parquet: not a readable table"),
        (lambda f: shutil.copy(f / "run/splits.parquet", f / "run/rewards.parquet"), (), "not a readable table"),
        (lambda f: None, ("--method", "llm"), r"--method 'llm': .* has rewards of sentiment, uniform"),
        (lambda f: None, ("--session", "nobody"), "--session 'nobody': no rewards of it"),
    ],
)
def test_what_cannot_be_exported_is_told(folder, capsys, break_it, more, problem):
    break_it(folder)
    code, _, err = export(capsys, *command(folder, *more))
    assert code == 2
    assert not (folder / "out").exists()
    with pytest.raises(ValueError, match=problem):
        raise ValueError(err)


def test_ratings_that_are_gone_are_told(folder, capsys):
    path = folder / "corpus" / "ratings.parquet"
    table = pq.read_table(path)
    pq.write_table(table.slice(1), path)
    code, _, err = export(capsys, *command(folder))
    assert code == 2
    assert "which" in err
    assert "does not have (any more)" in err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_to_is_told(folder, capsys):
    (folder / "out").mkdir(mode=0o500)
    assert export(capsys, *command(folder))[0] == 2


def test_a_file_in_the_place_of_the_folder_is_told(folder, capsys):
    (folder / "out").write_text("")
    code, _, err = export(capsys, *command(folder))
    assert code == 2
    assert "cannot be written" in err


def test_methods_go_with_datasets_only(folder, capsys):
    code, _, err = export(
        capsys, folder / "config.toml", "--format", "eaf", "--out", folder / "out", "--method", "uniform"
    )
    assert code == 2
    assert "--method goes with --format dataset, not with eaf" in err


def test_of_several_others_the_names_stand_before_the_words(tmp_path, capsys):
    write_small_corpus(tmp_path / "corpus", sessions=4)
    path = tmp_path / "corpus" / "utterances.parquet"
    rows = [row | ({"speaker": "eve"} if row["turn"] == 2 else {}) for row in pq.read_table(path).to_pylist()]
    pq.write_table(pa.Table.from_pylist(rows, schema=pq.read_schema(path)), path)
    with without_workers():
        run_locally(load_config(config(tmp_path, TEXT)), ["rewards"], quiet=True)
    assert export(capsys, *command(tmp_path, "--session", "s01", "--method", "uniform"))[0] == 0
    (part,) = read(tmp_path, tmp_path / "cache").values()
    assert {"eve", "user", "bot"} == set(part[0]["speakers"])
    for who, message in zip(part[0]["speakers"], part[0]["messages"], strict=True):
        assert message["content"].startswith(f"{who}: ") == (who != "bot")
    assert "`content` begins with their names.\nThe text" in (tmp_path / "out" / "README.md").read_text()


def test_the_credited_speakers_own_backgrounds_are_a_column_and_nobody_elses(made, tmp_path, capsys):
    folder = tmp_path / "informed"
    shutil.copytree(made / "corpus", folder / "corpus")
    rows = [("s00", None, "rules", "Be brief."), ("s00", "bot", "goal", "Sell."), ("s00", "user", "goal", "Leave.")]
    table = [dict(zip(("session_id", "speaker", "kind", "text"), row, strict=True)) for row in rows]
    (folder / "corpus" / "backgrounds.jsonl").write_text("".join(json.dumps(row) + "\n" for row in table))
    with without_workers():
        run_locally(load_config(config(folder, TEXT)), ["rewards"], quiet=True)
    assert export(capsys, *command(folder))[0] == 0
    found = {row["session_id"]: row for part in read(folder, tmp_path / "cache").values() for row in part}
    own = [("rules", False, "Be brief."), ("goal", True, "Sell.")]
    assert [(known["kind"], known["private"], known["text"]) for known in found["s00"]["backgrounds"]] == own
    assert found["s01"]["backgrounds"] == []
    assert "`backgrounds` is what the credited speaker knew" in (folder / "out" / "README.md").read_text()


def test_without_backgrounds_there_is_no_such_column(folder, tmp_path, capsys):
    assert export(capsys, *command(folder))[0] == 0
    assert all("backgrounds" not in part.column_names for part in read(folder, tmp_path / "cache").values())
    assert "backgrounds" not in (folder / "out" / "README.md").read_text()
