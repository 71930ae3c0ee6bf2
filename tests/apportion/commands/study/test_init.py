from pathlib import Path

import pytest
from click.testing import CliRunner

from apportion.cli import cli
from apportion.corpus.schema import RESPONSES
from apportion.foundation.errors import InputError
from apportion.rlhf.compare.responses import write_rows
from apportion.study.design.folder import StudyFolder
from tests.study.studies import POLICIES, responses


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "responses.parquet"
    write_rows(responses(same=(0,)), path, RESPONSES)
    return path


def run(*arguments):
    return CliRunner().invoke(cli, ["study", "init", *map(str, arguments)])


def test_responses_become_a_study(table, tmp_path):
    done = run(table, tmp_path / "study", "--criteria", "geli", "--base", POLICIES[0], "--contexts", 6, "--seed", 3)
    assert done.exit_code == 0, done.output
    assert "items: 5 that count, 1 of practice, 1 checks; each by 3 people, 5 a person" in done.output
    assert f"apportion study power {tmp_path / 'study'}" in done.output
    assert "next: write into" in done.output and "note: identical responses" in done.stderr
    assert len(StudyFolder.open(tmp_path / "study").counted) == 5


def test_a_seed_that_can_be_guessed_is_told(table, tmp_path):
    told = "--seed {} can be guessed, and with it whose response is which"
    done = run(table, tmp_path / "study", "--criteria", "geli", "--seed", 7)
    assert done.exit_code == 0 and told.format(7) in done.stderr
    done = run(table, tmp_path / "other", "--criteria", "geli", "--seed", 2**62)
    assert done.exit_code == 0 and "can be guessed" not in done.stderr


def test_the_next_version_of_one(table, tmp_path):
    assert run(table, tmp_path / "study", "--criteria", "pairs").exit_code == 0
    done = run("--from", tmp_path / "study", tmp_path / "next")
    assert done.exit_code == 0 and "(version 2)" in done.output
    assert StudyFolder.open(tmp_path / "next").settings.version == 2


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("r.parquet", "--criteria", "geli"), "two paths are needed"),
        (("r.parquet", "out"), "--criteria: missing"),
        (("a", "b", "--from", "c"), "with --from, give the new folder alone"),
        (("out", "--from", "c", "--title", "x"), "give the new folder alone, without --title"),
        (("out", "--from", "c", "--seed", "4"), "give the new folder alone, without --seed"),
        (("none.parquet", "out", "--criteria", "geli"), "none.parquet: no such file"),
    ],
)
def test_what_is_missing_is_told(arguments, told):
    done = run(*arguments)
    assert isinstance(done.exception, InputError) and told in str(done.exception)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "r.csv: the file is empty; a first row with 'session_id' in it is needed"),
        ("\n\n", "r.csv: the file is empty"),
        ("\ufeff", "r.csv: the file is empty"),
        ("session_id,turn,context,policy,response,seed\n", "no responses: the table has no row"),
    ],
)
def test_a_table_without_responses(tmp_path, content, told):
    (tmp_path / "r.csv").write_text(content, encoding="utf-8")
    done = run(tmp_path / "r.csv", tmp_path / "study", "--criteria", "geli")
    assert isinstance(done.exception, InputError) and told in str(done.exception)
    assert not (tmp_path / "study").exists()


def test_what_belongs_to_another_source_is_refused(table, tmp_path):
    done = run(table, tmp_path / "study", "--criteria", "geli", "--target", "Alice")
    assert isinstance(done.exception, InputError) and "--target Alice" in str(done.exception)
    assert run(table, tmp_path / "study", "--criteria", "geli").exit_code == 0
    done = run(tmp_path / "study", tmp_path / "other", "--criteria", "geli")
    assert isinstance(done.exception, InputError) and "Its next version: --from" in str(done.exception)


def test_dialogues_of_a_corpus_become_a_study(tmp_path):
    demo = Path(__file__).resolve().parents[4] / "demo" / "corpus"
    done = run(demo, tmp_path / "study", "--criteria", "turns", "--contexts", 5, "--checks-every", 2)
    assert done.exit_code == 0, done.output
    items = StudyFolder.open(tmp_path / "study").counted
    assert len(items) == 4 and all(item.turns and not item.responses for item in items)
    done = run(demo, tmp_path / "other", "--criteria", "negotiation", "--base", "assistant", "--target", "assistant")
    assert done.exit_code == 0, done.output
    assert "study power" not in done.output  # It tells nothing of a rating of one response.
    assert {len(item.responses) for item in StudyFolder.open(tmp_path / "other").counted} == {1}
    done = run(demo, tmp_path / "third", "--criteria", "negotiation", "--base", "nobody")
    assert "base 'nobody': no such policy among those" in str(done.exception)
