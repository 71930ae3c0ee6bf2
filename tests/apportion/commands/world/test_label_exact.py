import json

from click.testing import CliRunner

from apportion.cli import cli
from apportion.corpus.corpus import Corpus


def run(*arguments):
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


def test_a_simulated_corpus_gets_labels_that_nobody_gave(tmp_path):
    played = ("world", "simulate", "sotopia", tmp_path / "play")
    played += ("--agents", "conceding,moody", "--scenario", "used_bicycle")
    assert run(*played, "--pairs", 1, "--most-acts", 8).exit_code == 0
    done = run("label", "shapley", tmp_path / "play", "--rating", "GOAL", "--most-acts", 4, "--rollouts", 1)
    assert done.exit_code == 0, done.output
    assert "labels by computed:shapley: computed, nobody judged" in done.output
    assert f"next: apportion benchmark {tmp_path / 'play-labelled'} --rating GOAL --method savoir" in done.output
    labels = Corpus.open(tmp_path / "play-labelled").turn_labels
    assert labels.num_rows and set(labels["annotator"].to_pylist()) == {"computed:shapley"}
    told = run("label", "shapley", tmp_path / "play", "-o", tmp_path / "b", "--target", "Nobody", "--json")
    assert told.exit_code == 1 and "no rated person 'Nobody'; there are " in str(told.exception)
    told = run("label", "shapley", tmp_path / "play", "-o", tmp_path / "b", "--rating", "GOALL", "--json")
    assert "no rating 'GOALL'; did you mean 'GOAL'?" in str(told.exception)
    told = run("label", "shapley", tmp_path / "play", "-o", tmp_path / "b", "--most-acts", 1, "--json")
    assert "no act of any episode can be labelled" in str(told.exception) and "1 acts at most" in str(told.exception)
    again = run("label", "shapley", tmp_path / "play", "--rating", "GOAL", "--most-acts", 4, "--rollouts", 1, "--json")
    assert json.loads(again.stdout)["rows"]["turn_labels"] == labels.num_rows
