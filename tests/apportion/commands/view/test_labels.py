import json

import pytest

from apportion.corpus.corpus import Corpus
from apportion.viewer.labels.label_store import Overlay
from tests.apportion.called import saying
from tests.behaviour.small import write_small_corpus
from tests.viewer.labels.given import LANDING, corpus, label
from tests.viewer.labels.test_label_studio import answered
from tests.viewer.runs import run_on


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    corpus(tmp_path / "corpus")
    return tmp_path


run = saying()


def test_labels_become_a_corpus(folder, capsys):
    overlay = Overlay(folder / "run.labels.jsonl")
    overlay.ask(LANDING)
    overlay.add(label())
    code, out, _ = run(capsys, "label", "merge", "run.labels.jsonl", "corpus", "labelled")
    assert code == 0 and "1 labels by 1 annotators (eve)" in out
    assert f'corpus = "{folder / "labelled"}"' in out and "next: apportion inspect labelled" in out
    assert Corpus.open("labelled").turn_labels.to_pylist()[0]["value"] == 4.0
    code, out, _ = run(capsys, "label", "merge", "run.labels.jsonl", "corpus", "labelled", "--json")
    assert code == 0 and json.loads(out)["rows"]["turn_labels"] == 1


def test_what_cannot_be_merged_ends_with_2(folder, capsys):
    run.refuses(capsys, "gone.jsonl: no such file", "label", "merge", "gone.jsonl", "corpus", "labelled")
    assert run(capsys, "label", "merge", "corpus", "labelled")[0] == 2


def test_to_label_studio_and_back_and_into_a_corpus(folder, capsys):
    code, out, _ = run(capsys, "label", "export", "corpus", "tasks", "--scale", "1 to 5", "--name", "tone")
    assert code == 0 and "wrote tasks.json (12 tasks) and tasks.xml" in out
    assert run(capsys, "label", "export", "corpus", "tasks", "--scale", "1 to 5")[0] == 2, "files are there"
    (folder / "export.json").write_text(json.dumps(answered(json.loads((folder / "tasks.json").read_text()), 4.0)))
    asked = ("--scale", "1 to 5", "--name", "tone")
    code, out, _ = run(capsys, "label", "import", "export.json", "corpus", "o.jsonl", *asked)
    assert code == 0 and "12 labels by label-studio:1" in out
    code, out, _ = run(capsys, "label", "import", "export.json", "corpus", "o.jsonl", "--json")
    again = json.loads(out)
    assert code == 0 and again["labels"] == 0, "the overlay knows the question, and has these answers"
    assert again["notes"][-1] == "12 answers that the labels have already, or newer ones than those"
    (folder / "export.json").write_text(json.dumps(answered(json.loads((folder / "tasks.json").read_text()), 5.0)))
    code, out, _ = run(capsys, "label", "import", "export.json", "corpus", "o.jsonl", "--json")
    assert code == 0 and json.loads(out)["labels"] == 12, "they answered otherwise"
    assert run(capsys, "label", "merge", "o.jsonl", "corpus", "labelled")[0] == 0
    assert {row["name"] for row in Corpus.open("labelled").turn_labels.to_pylist()} == {"tone"}


def test_thumbs_are_asked_where_no_scale_is_named(folder, capsys):
    assert run(capsys, "label", "export", "corpus", "tasks", "--json")[0] == 0
    assert "badly" in (folder / "tasks.xml").read_text() and 'alias="1"' in (folder / "tasks.xml").read_text()


def test_another_export_is_refused_by_its_task(folder, capsys):
    (folder / "export.json").write_text(json.dumps([{"id": 5, "data": {"text": "<script>"}, "annotations": []}]))
    told = "export.json, task 5: its data do not say which turn it is"
    run.refuses(capsys, told, "label", "import", "export.json", "corpus", "o.jsonl")
    assert not (folder / "o.jsonl").exists()


def test_labels_that_teach_are_asked_for_on_a_run_that_is_made_once(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_small_corpus(tmp_path / "corpus", sessions=4)
    served = []
    monkeypatch.setattr("apportion.viewer.serve.serve", lambda *given: served.append(given))
    monkeypatch.setattr("apportion.pipeline.first_rewards.make_rewards", lambda config, quiet: run_on(tmp_path))
    (tmp_path / "corpus-labels").mkdir()
    assert run(capsys, "label", "serve", "corpus", "--no-browser")[0] == 2, "nothing was made in OUT"
    assert 'compare = ["sentiment", "uniform"]' in (tmp_path / "corpus-labels" / "apportion.toml").read_text()
    code, *_ = run(capsys, "label", "serve", "corpus", "--run", "run", "--no-browser")
    ((place, host, _, browser, _, around),) = served
    assert (code, place.folder, host, browser) == (0, tmp_path / "run", "127.0.0.1", False)
    assert around.teaching and around.overlay.path == tmp_path / "run.labels.jsonl"
    write_small_corpus(tmp_path / "other", sessions=4)
    run.refuses(capsys, "Name another folder for other", "label", "serve", "other", "--out", "corpus-labels")
