import json
from pathlib import Path

import pytest

from apportion.foundation.errors import InputError
from apportion.pipeline.assembly import assemble, decided
from apportion.pipeline.config import Config, load_config, shown_config
from apportion.pipeline.engine.stage import Unit
from apportion.pipeline.execution import shards
from apportion.pipeline.execution.orchestrator_state import FILE, as_decided
from apportion.pipeline.preflight import check
from apportion.pipeline.template import render_template
from tests.behaviour.command import in_process
from tests.behaviour.small import film_one_person, write_small_corpus

FETCH = "apportion models fetch mesh"


@pytest.fixture
def corpus(tmp_path) -> Path:
    return write_small_corpus(tmp_path / "corpus", sessions=4)


@pytest.fixture
def filmed(corpus) -> Path:
    """The corpus with a film of one person."""
    return film_one_person(corpus)


def with_mesh(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on this machine has the mesh, as far as the choice looks."""
    monkeypatch.setattr("apportion.features.face.choice.find_mesh", lambda: Path("there"))


def config(corpus: Path, **features: str) -> Config:
    values = {"corpus": corpus, "output": corpus.parent / "run", "features": {"emotion_model": "none", **features}}
    return Config.model_validate(values)


def key(config: Config) -> str:
    return assemble(config).key("features", Unit("s00"))


def test_the_key_knows_what_was_taken_and_not_how_it_was_chosen(filmed, monkeypatch):
    haar, mesh = key(config(filmed, detector="haar")), key(config(filmed, detector="mesh"))
    assert haar != mesh
    before = decided(config(filmed))
    assert key(config(filmed)) == key(before) == haar
    with_mesh(monkeypatch)
    assert key(config(filmed)) == key(decided(config(filmed))) == mesh
    assert key(before) == haar  # What a run has decided does not change while it goes on.


def test_a_mesh_that_was_asked_for_is_not_replaced(filmed):
    with pytest.raises(InputError, match=FETCH):
        check(config(filmed, detector="mesh"))


def test_the_records_show_what_was_taken(filmed, monkeypatch):
    path = filmed.parent / "c.toml"
    path.write_text('corpus = "corpus"\noutput = "run"\n[features]\nemotion_model = "none"\n')
    done = in_process(monkeypatch, "run", "--only", "features", path)
    assert done.returncode == 0
    assert f"faces          by haar (no face mesh: {FETCH})" in done.stdout
    assert (done.stdout + done.stderr).count("found and read by haar") == 1
    record = json.loads((filmed.parent / "run" / "run.json").read_text())
    assert sum(FETCH in warning for warning in record["warnings"]) == 1
    assert record["config"]["features"]["detector"] == "haar" and "auto_detector" not in record["config"]["features"]
    done = in_process(monkeypatch, "run", "--only", "features", path, "--json")
    assert json.loads(done.stdout)["detector"] == f"haar (no face mesh: {FETCH})"
    path.write_text(path.read_text() + 'detector = "haar"\n')
    done = in_process(monkeypatch, "run", "--only", "features", path)
    assert "faces          by haar\n" in done.stdout and FETCH not in done.stdout + done.stderr
    assert "1 reused" in done.stdout + done.stderr
    with_mesh(monkeypatch)
    assert shown_config(config(filmed))["features"]["detector"] == "mesh"


def test_nobody_is_offered_what_a_run_decides():
    text = render_template({"corpus": "corpus"})
    assert '# detector = "auto"' in text and "auto_detector" not in text


def test_tasks_on_other_machines_hold_to_what_the_first_has_decided(filmed, monkeypatch):
    path = filmed.parent / "c.toml"
    path.write_text('corpus = "corpus"\noutput = "run"\n[features]\nemotion_model = "none"\n')
    haar = key(config(filmed, detector="haar"))
    shards.prepare(str(path))
    with_mesh(monkeypatch)  # The next machine has one.
    loaded = as_decided(load_config(path))
    assert loaded.features.auto_detector == "haar" and key(loaded) == haar
    assert shards.run_shard(str(path), "features", 0, 4) == {"done": 1, "reused": 0, "quarantined": 0}
    shards.finish(str(path))
    record = json.loads((filmed.parent / "run" / "run.json").read_text())
    assert record["config"]["features"]["detector"] == "haar"
    assert sum(FETCH in warning for warning in record["warnings"]) == 1


def test_a_task_without_the_mesh_that_was_decided_on_fails_and_says_so(filmed):
    path = filmed.parent / "c.toml"
    path.write_text('corpus = "corpus"\noutput = "run"\n[features]\nemotion_model = "none"\n')
    (filmed.parent / "run").mkdir()
    (filmed.parent / "run" / FILE).write_text('{"auto_detector": "mesh"}\n')
    with pytest.raises(InputError, match=FETCH):
        shards.run_shard(str(path), "features", 0, 4)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"auto_detector": "yunet"}', "\x00"])
def test_a_decision_that_cannot_be_read(tmp_path, text):
    settings = config(tmp_path / "corpus")
    settings.output.mkdir()
    (settings.output / FILE).write_text(text)
    with pytest.raises(InputError, match=r"decided\.json.*Delete it"):
        as_decided(settings)
    assert as_decided(config(tmp_path / "corpus", detector="haar")).features.detector == "haar"


def test_a_run_folder_that_cannot_be_written(filmed):
    (filmed.parent / "run").write_text("a file")
    path = filmed.parent / "c.toml"
    path.write_text('corpus = "corpus"\noutput = "run"\n')
    with pytest.raises(InputError, match="Set `output`"):
        shards.prepare(str(path))
