import json

from tests.apportion.called import called


def test_tables_of_a_league_are_shown_and_written(tmp_path, capsys):
    league = str(tmp_path / "league")
    assert called("world", "tournament", "werewolf", league, "--agents", "random", "--matches", "6", "--teams") == 0
    similarities = tmp_path / "made_up.jsonl"
    similarities.write_text('{"epoch": 0, "session": "s", "turn": 1, "similarity": 0.5}\n')
    capsys.readouterr()
    options = (
        f"{league} --against random --reward random=full --intents random=3 --instances random=4000"
        f" --backend random=none --persuasion {similarities} --bootstrap 100"
    )
    arguments = ("world", "tables", "stackelberg", *options.split())
    assert called(*arguments, "-o", str(tmp_path / "report")) == 0
    told = capsys.readouterr().out
    assert "Table 2 of the Stackelberg Speaker: reward functions, against random" in told
    assert "  4,000      random" in told and "Figure 5" in told and "report.md holds all tables" in told
    names = {path.name for path in (tmp_path / "report").iterdir()}
    assert {"report.md", "figure_4.svg", "figure_5.svg", "figure_10.svg", "table_6.svg", "table_2.json"} <= names
    assert called(*arguments, "--json") == 0
    assert json.loads(capsys.readouterr().out) == json.loads((tmp_path / "report" / "report.json").read_text())
