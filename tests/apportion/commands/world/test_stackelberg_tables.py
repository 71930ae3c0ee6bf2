"""`apportion world tables stackelberg`."""

import json

import pytest

from tests.apportion.called import called


def test_tables_of_a_league_are_shown_and_written(tmp_path, capsys):
    league = str(tmp_path / "league")
    assert called("world", "tournament", "werewolf", league, "--agents", "random", "--matches", "6", "--teams") == 0
    similarities = tmp_path / "made_up.jsonl"
    similarities.write_text('{"epoch": 0, "session": "s", "turn": 1, "similarity": 0.5}\n')
    capsys.readouterr()
    arguments = (
        *(
            "world",
            "tables",
            "stackelberg",
            league,
            "--against",
            "random",
            "--reward",
            "random=full",
            "--intents",
            "random=3",
        ),
        *("--instances", "random=4000", "--backend", "random=none", "--persuasion", str(similarities)),
        *("--bootstrap", "100"),
    )
    assert called(*arguments, "-o", str(tmp_path / "report")) == 0
    told = capsys.readouterr().out
    assert "Table 2 of the Stackelberg Speaker: reward functions, against random" in told
    assert "  4,000      random" in told and "Figure 5" in told and "report.md holds all tables" in told
    names = {path.name for path in (tmp_path / "report").iterdir()}
    assert {"report.md", "figure_4.svg", "figure_5.svg", "figure_10.svg", "table_6.svg", "table_2.json"} <= names
    assert called(*arguments, "--json") == 0
    assert json.loads(capsys.readouterr().out) == json.loads((tmp_path / "report" / "report.json").read_text())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "nothing to report; give corpora"),
        (("--intents", "a=0"), "--intents 'a=0': give an agent and a whole number above 0"),
        (("--instances", "a=much"), "--instances 'a=much'"),
        (("--reward", "a"), "--reward 'a': give an agent and what it is"),
        (("--backend", "a=m", "--backend", "a=n"), "'a' is there twice"),
        (("--persuasion", "none.jsonl"), "not to be read as similarities"),
    ],
)
def test_bad_input_ends_with_code_2(capsys, arguments, said):
    assert called("world", "tables", "stackelberg", *arguments) == 2
    assert said in capsys.readouterr().err
