import json
import re
from functools import partial
from pathlib import Path

import click
import pytest

from apportion.cli import cli
from apportion.corpus.importers import import_to
from apportion.environments.simulation import write_corpus
from apportion.environments.sotopia.simulation import SimulationChoice
from tests.apportion.called import called
from tests.environments.sotopia.reports.made import Made, every
from tests.shared import shared

run = partial(called, "world", "tables", "sotopia")


@pytest.fixture
def corpus(tmp_path) -> Path:
    made = Made()
    for share in (0.1, 0.3, 0.5, 0.8):
        scores = {"paper@m": every(share), "ann": every(share / 2)}
        made.episode(("m1", "m2"), (scores, scores))
    return made.write(tmp_path / "judged")


def test_tables_are_printed_and_written(tmp_path, corpus, capsys):
    assert run(corpus, "--people", "ann", "--out", tmp_path / "out", "--bootstrap", "100") == 0
    told = capsys.readouterr().out
    assert "Table 1: Pearson's r between judge 'paper@m' and people" in told and "1.00**" in told
    assert "simulated" in told and "not there, because no person plays" in told
    assert f"wrote {len(list((tmp_path / 'out').iterdir()))} files" in told
    assert (tmp_path / "out" / "figure_3.svg").read_text().startswith("<svg")
    document = json.loads((tmp_path / "out" / "report.json").read_text())
    assert run(corpus, "--people", "ann", "--bootstrap", "100", "--json") == 0
    assert json.loads(capsys.readouterr().out) == document


def test_rules_are_reported_as_rules(tmp_path, capsys):
    play = tmp_path / "play"
    write_corpus(SimulationChoice(agents=("conceding", "random"), scenarios=("used_bicycle",)), play)
    assert run(play, "--human", "random") == 0
    told = capsys.readouterr().out
    assert "by judge 'rules' (rules; not SOTOPIA-EVAL)" in told and "Human (w conceding)" in told


def missing(table) -> set[str]:
    """Why something of a table is not there."""
    cells = [cell for row in table["rows"] for cell in row if isinstance(cell, dict)]
    return {table["not_there_because"], *(cell.get("because") for cell in cells)} - {None}


def known_command(words: list[str]) -> bool:
    """Whether there is such a command, with these options."""
    command, words = cli, words[1:]
    while isinstance(command, click.Group):
        command, words = command.commands[words[0]], words[1:]
    options = {name for one in command.params for name in one.opts}
    return {word for word in words if word.startswith("--")} <= options


@pytest.mark.parametrize("tables", ["sotopia", "savoir", "stackelberg"])
def test_what_is_missing_names_the_command_that_fills_it(tmp_path, capsys, tables):
    """Half-filled: who played is known, but nobody judged, no person rated or played, and no other world is there."""
    play = tmp_path / "play"
    write_corpus(SimulationChoice(agents=("conceding", "random"), scenarios=("holiday_plans",)), play)
    assert called("world", "tables", tables, play, "--json") == 0
    made = json.loads(capsys.readouterr().out)
    filled = {one["because"]: one["fill"] for one in made["to_fill"]}
    there = {reason for table in made["tables"] for reason in missing(table)}
    assert there and not {reason for reason in there - set(filled) if not reason.startswith(("constant", "no GOAL"))}
    for fill in (one["fill"] for one in made["to_fill"]):
        if "printf" in fill or "--policy" in fill:
            continue  # Of papers' rows: tests/environments/stackelberg/test_paper_rows.py.
        for one in re.split(r"(?:, then|, as) |; | && ", fill):
            assert one.startswith(("--", "give ")) or known_command(one.split())
    assert called("world", "tables", tables, play) == 0
    told = capsys.readouterr().out
    assert "To fill what is not there:\n" in told and all(fill in told for fill in filled.values())


@pytest.mark.parametrize(("tables", "option"), [("sotopia", "--people"), ("savoir", "--human"), ("savoir", "--judge")])
def test_who_is_named_without_a_corpus_is_not_left_out_in_silence(capsys, tables, option):
    assert called("world", "tables", tables, option, "ann") == 2
    assert "no corpus: name at least one" in capsys.readouterr().err


@pytest.mark.parametrize("tables", ["sotopia", "savoir", "stackelberg"])
def test_episodes_that_nobody_rated_name_the_command_that_rates_them(tmp_path, capsys, tables):
    made = Made()
    made.episode(("m1", "m2"), ({}, {}))
    corpus = made.write(tmp_path / "unrated")
    assert called("world", "tables", tables, corpus) == 2
    assert f"Have the episodes judged: apportion world evaluate {corpus} --model NAME" in capsys.readouterr().err


def test_the_released_episodes_have_models_and_no_people(tmp_path, capsys):
    source = shared("data/sotopia_rl/old_example_episodes_with_scores.jsonl.gz")
    import_to("sotopia", source, tmp_path / "released", {})
    assert run(tmp_path / "released", "--json") == 0
    tables = {one["key"]: one for one in json.loads(capsys.readouterr().out)["tables"]}
    assert tables["table_2"]["columns"] == ["Dim.", "Range", "gpt-3.5-turbo", "gpt-4"]
    assert [cell["n"] for cell in tables["table_2"]["rows"][-1][2:]] == [23, 17]
    assert tables["table_1"]["not_there_because"] == "no annotator is named as a person"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--judge", "paper@n"), "--judge: no ratings by: 'paper@n'; did you mean 'paper@m'?"),
        (("--people", "anne"), "--people: neither an annotator nor a folder: 'anne'; did you mean 'ann'?"),
        (("--hard", "nowhere.toml"), "nowhere.toml: no such file"),
        (("--bootstrap", "1"), "--bootstrap"),
        (("--out", "/dev/null/x"), "cannot be written"),
    ],
)
def test_bad_input_ends_with_code_2(corpus, capsys, arguments, message):
    assert run(corpus, *arguments) == 2
    assert message in capsys.readouterr().err


def test_what_is_no_corpus_and_no_choice_of_tasks_is_told(tmp_path, corpus, capsys):
    (tmp_path / "empty").mkdir()
    assert run(tmp_path / "empty") == 2
    assert "no table 'sessions'" in capsys.readouterr().err
    assert run() == 0
    assert "apportion world tournament sotopia CORPUS --agents" in capsys.readouterr().out
    tasks = tmp_path / "tasks.toml"
    tasks.write_text('[[character]]\nname = "Ann"\n')
    assert run(corpus, "--hard", tasks) == 2
    assert "states no tasks" in capsys.readouterr().err
