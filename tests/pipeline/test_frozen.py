"""New sessions by what a finished run learned: only they are worked on, and old rows stay as they are."""

import json
import shutil
from contextlib import nullcontext
from importlib.metadata import version
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from apportion.corpus.corpus import Corpus
from apportion.corpus.schema import MEDIA, UTTERANCES
from apportion.foundation.errors import InputError
from apportion.foundation.files import file_digest
from apportion.pipeline.assembly import _kept, open_engine
from apportion.pipeline.config import load_config
from apportion.pipeline.engine.plan import last_stages
from apportion.pipeline.execution.local import run_locally
from apportion.pipeline.execution.shards import finish, list_shards, prepare, run_shard
from apportion.pipeline.stages.registry import STAGES
from tests.behaviour.command import without_workers
from tests.behaviour.small import write_small_corpus
from tests.made_once import made_once

JUDGED = '[decompose]\nmethod = "sentiment"\ncompare = ["uniform"]\n'
LEARNED = (
    '[decompose]\nmethod = "mix"\ncompare = ["sentiment", "reaction"]\n[train_reward]\nepochs = 1\n'
    "head_hidden_size = 8\n[evaluate]\nbootstrap = 100\n[align]\nenabled = false\n"
)


def write(folder: Path, name: str, corpus: str, settings: str, frozen: str = "") -> Path:
    """A configuration whose run is called as it is."""
    given = f'frozen = "{frozen}"\n' if frozen else ""
    path = folder / f"{name}.toml"
    path.write_text(f'corpus = "{corpus}"\noutput = "{name}"\n{given}{settings}')
    return path


def write_corpora(folder: Path) -> None:
    """12 sessions, the same and 3 more, and those 3 by themselves."""
    grown = Corpus.open(write_small_corpus(folder / "grown", sessions=15))
    for name, kept in (("old", slice(12)), ("fresh", slice(12, 15))):
        ids = pa.array(sorted(grown.session_ids())[kept])
        tables = {of: getattr(grown, of) for of in ("sessions", "utterances", "ratings", "turn_labels")}
        part = {of: table.filter(pc.is_in(table["session_id"], ids)) for of, table in tables.items()}
        Corpus.of(folder / name, part).write(folder / name)


def run(path: Path, stages=("rewards",), by=without_workers) -> dict[str, dict[str, int]]:
    """What became of the units; ``by=nullcontext`` has workers, as a run has them."""
    _kept.clear()
    with by():
        return run_locally(load_config(path).with_run(workers=1), stages, quiet=True).result.counts()


def sessions_of(folder: Path, table: str, *, fresh: bool) -> pa.Table:
    rows = pq.read_table(folder / f"{table}.parquet")
    new = pc.greater_equal(rows["session_id"], "s12")
    return rows.filter(new if fresh else pc.invert(new)).combine_chunks()


def make_base(folder: Path) -> None:
    write_corpora(folder)
    run(write(folder, "base", "old", JUDGED))


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path) -> Path:
    """The corpora and a finished run of the old one, for this test alone."""
    _kept.clear()
    return shutil.copytree(made_once(tmp_path_factory, "frozen", make_base), tmp_path / "runs")


def test_an_old_session_whose_recording_changed_is_refused_and_one_that_is_gone_left_out(tmp_path):
    grown = Corpus.open(write_small_corpus(tmp_path / "first", sessions=8))
    rows = [f"{0.04 * at:.2f},1,{at % 2},0" for at in range(300)]
    turns = grown.utterances.to_pylist()
    for row in turns:
        row |= {"start_s": 1.5 * row["turn"], "end_s": 1.5 * row["turn"] + 1.0}
    tables = grown.tables | {
        "utterances": pa.Table.from_pylist(turns, schema=UTTERANCES.arrow),
        "media": pa.Table.from_pylist(
            [{"session_id": "s00", "speaker": "user", "kind": "features", "path": "a.csv", "channel": "openface"}],
            schema=MEDIA.arrow,
        ),
    }
    Corpus.of(tmp_path / "calls", tables).write(tmp_path / "calls")
    film = tmp_path / "calls" / "a.csv"
    film.write_text("timestamp,success,AU12_c,gaze_angle_x\n" + "\n".join(rows))
    both = ("features", "rewards")
    assert run(write(tmp_path, "base", "calls", JUDGED), both)["features"] == {"done": 8}
    path = write(tmp_path, "nightly", "calls", JUDGED, "base")
    assert run(path, both)["features"] == {"reused": 8}
    film.write_text(film.read_text().replace(",1,1,0", ",1,0,0"))
    with pytest.raises(InputError, match=r"frozen: sessions s00 are not as .*base had them, .* of other recordings"):
        run(path, both)
    film.unlink()
    assert run(path, both)["features"] == {"reused": 7}  # left out, as it is without frozen


def test_a_corpus_that_grew_costs_its_new_sessions_alone_and_again_nothing(folder):
    path = write(folder, "nightly", "grown", JUDGED, "base")
    counts = run(path, by=nullcontext)
    assert counts["judge"] == {"done": 6, "reused": 24} and counts["rewards"] == {"done": 2}
    assert run(path) == {"split": {"reused": 1}, "judge": {"reused": 30}, "rewards": {"reused": 2}}
    old, new = (pq.read_table(folder / name / "rewards.parquet") for name in ("base", "nightly"))
    assert sessions_of(folder / "nightly", "rewards", fresh=False) == old.combine_chunks() and len(new) > len(old)
    assert not list((folder / "nightly" / "store" / "judge").glob("*/*/s00*"))


def test_new_sessions_in_a_folder_of_their_own_get_the_same_rewards_by_the_calls_of_an_orchestrator(folder):
    run(write(folder, "nightly", "grown", JUDGED, "base"))
    path = str(write(folder, "yesterday", "fresh", JUDGED, "base"))
    _kept.clear()
    prepare(path)
    done = {
        stage: [run_shard(path, stage, n, 2) for n in list_shards(path, stage, 2)]
        for stage in ("split", "judge", "rewards")
    }
    assert sum(shard["done"] for shard in done["judge"]) == 6
    finish(path)
    assert pq.read_table(folder / "yesterday" / "rewards.parquet").combine_chunks() == sessions_of(
        folder / "nightly", "rewards", fresh=True
    )
    assert set(pq.read_table(folder / "yesterday" / "splits.parquet")["split"].to_pylist()) == {"test"}
    assert list_shards(path, "evaluate", 2) == list_shards(path, "align", 2) == []


def test_the_run_is_in_keys_and_in_provenance_and_told_with_how_many_are_new(folder):
    before = {path: path.read_bytes() for path in (folder / "base").rglob("*") if path.is_file()}
    path = write(folder, "nightly", "grown", JUDGED, "base")
    run(path)
    engine = open_engine(load_config(path))
    sha256 = file_digest(folder / "base" / "run.json")
    for stage in ("split", "rewards"):
        told = engine.lineage(stage, engine.plan.units[stage][0])
        assert told["settings"]["frozen"] == {"run": "base", "sha256": sha256}
    record = json.loads((folder / "nightly" / "run.json").read_text())
    assert "3 of 15 sessions are new" in record["config"]["notes"][0] and sha256[:12] in record["config"]["notes"][0]
    assert record["left_out"]["evaluate"].startswith("frozen: ") and record["config"]["frozen"] == "base"
    assert {path: path.read_bytes() for path in (folder / "base").rglob("*") if path.is_file()} == before


def test_a_run_that_does_not_tell_its_recordings_has_nothing_to_compare_with_them(folder):
    table = folder / "base" / "sessions.parquet"
    pq.write_table(pq.read_table(table).drop_columns(["recordings"]), table)
    edit(folder, lambda record: record["files"].update({"sessions.parquet": file_digest(table)}))
    counts = run(write(folder, "nightly", "grown", JUDGED, "base"))
    assert counts["judge"] == {"done": 6, "reused": 24} and counts["rewards"] == {"done": 2}


def edit(folder: Path, change) -> None:
    path = folder / "base" / "run.json"
    record = json.loads(path.read_text())
    change(record)
    path.write_text(json.dumps(record))


def damage(folder: Path) -> None:
    (folder / "base" / "projections" / "uniform-seed0.json").write_text("{}")


def lose(folder: Path) -> None:
    (folder / "base" / "projections" / "uniform-seed0.json").unlink()


def another_word(folder: Path) -> None:
    corpus = Corpus.open(folder / "grown")
    rows = corpus.utterances.to_pylist()
    rows[0]["text"] = "Another word."
    tables = {of: getattr(corpus, of) for of in ("sessions", "ratings", "turn_labels")}
    tables["utterances"] = pa.Table.from_pylist(rows, schema=corpus.utterances.schema)
    Corpus.of(folder / "grown", tables).write(folder / "grown")


@pytest.mark.parametrize(
    ("change", "settings", "frozen", "told"),
    [
        (None, JUDGED, "base.toml", "frozen: .*base.toml: no run.json"),
        (None, JUDGED, "nowhere", "frozen: .*nowhere: no run.json, so nothing has been run into this folder"),
        (None, JUDGED, "nightly", "frozen: .*nightly is this run's own output"),
        (None, f"seeds = [1]\n{JUDGED}", "base", r"base has other settings: seeds is \[0\] there and \[1\] here"),
        (None, JUDGED.replace("uniform", "affect"), "base", "other settings: decompose.compare"),
        (
            lambda folder: edit(folder, lambda record: record["versions"].update(apportion="0.0.1")),
            JUDGED, "base", f"made by apportion 0.0.1, and this is {version('apportion')}",
        ),
        (
            lambda folder: edit(folder, lambda record: record["stages"]["rewards"].update(version=1)),
            JUDGED, "base", "whose rewards worked otherwise",
        ),
        (
            lambda folder: edit(folder, lambda record: record["stages"]["rewards"].update(finished=1)),
            JUDGED, "base", "not finished: rewards \\(1 of 2\\). Run its configuration first",
        ),
        (damage, JUDGED, "base", "uniform-seed0.json is not as the run left it"),
        (lose, JUDGED, "base", "uniform-seed0.json is not there any more"),
        (another_word, JUDGED, "base", "sessions s00 are not as .*base had them"),
        (
            lambda folder: edit(folder, lambda record: record["config"].update(frozen="first")),
            JUDGED, "base", "is a frozen run itself, and learned nothing. Name the run that it rests on: first",
        ),
    ],
)  # fmt: skip
def test_a_run_that_cannot_be_rested_on_is_refused(folder, change, settings, frozen, told):
    if change is not None:
        change(folder)
    with pytest.raises(InputError, match=told):
        run(write(folder, "nightly", "grown", settings, frozen))


def test_methods_whose_network_is_not_kept_are_refused_by_name(folder):
    for method, told in (("rrd", "'?rrd'?: learned by a network that no run keeps"),):
        settings = f'[decompose]\nmethod = "{method}"\n'
        chosen = load_config(write(folder, "nightly", "grown", settings, "base"))
        shown = open_engine(load_config(write(folder, "plain", "old", settings))).config

        def pretend(record, shown=shown):
            from apportion.pipeline.config import shown_config

            record["config"] = shown_config(shown)

        edit(folder, pretend)
        _kept.clear()
        with pytest.raises(InputError, match=told):
            open_engine(chosen)


def test_without_a_new_session_it_is_said_and_without_a_score_refused(folder):
    path = write(folder, "nightly", "old", JUDGED, "base")
    with without_workers():
        summary = run_locally(load_config(path), ["rewards"], quiet=True)
    assert any("no session is new to" in warning for warning in summary.warnings)
    assert sessions_of(folder / "nightly", "rewards", fresh=True).num_rows == 0


@pytest.mark.slow  # MiniLM reads 18 sessions, and reward models are trained.
def test_fitted_methods_and_reward_models_judge_what_is_new(tmp_path):
    write_corpora(tmp_path)
    base = write(tmp_path, "base", "old", LEARNED)
    last = last_stages(STAGES, None, ())
    run(base, last, by=nullcontext)
    counts = run(write(tmp_path, "nightly", "grown", LEARNED, "base"), last, by=nullcontext)
    assert counts["embed"] == {"done": 3, "reused": 12} and counts["train-reward"] == {"done": 3}
    assert counts["fit"] == {"done": 2} and not counts.keys() & {"evaluate", "align", "slices", "hand-labels"}
    run(write(tmp_path, "yesterday", "fresh", LEARNED, "base"), last, by=nullcontext)
    for table in ("rewards", "scores"):
        whole = pq.read_table(tmp_path / "base" / f"{table}.parquet").combine_chunks()
        assert sessions_of(tmp_path / "nightly", table, fresh=False) == whole
        alone = pq.read_table(tmp_path / "yesterday" / f"{table}.parquet").combine_chunks()
        assert sessions_of(tmp_path / "nightly", table, fresh=True) == alone and alone["reward"].null_count == 0
    for file in (tmp_path / "base" / "reward_models").rglob("*.safetensors"):
        assert (tmp_path / "nightly" / file.relative_to(tmp_path / "base")).read_bytes() == file.read_bytes()
    page = (tmp_path / "nightly" / "report.html").read_text()
    assert "3 of 15 sessions are new" in page
