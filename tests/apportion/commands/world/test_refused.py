import sys

import pytest

from tests.apportion.called import called

FIVE = "merlin,servant,servant,minion,assassin"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("simulate sotopia OUT --agents concedin", "did you mean 'conceding'?"),
        ("simulate sotopia OUT --agents ,", "nothing to play"),
        ("simulate sotopia OUT --scenario bike", "no scenario 'bike'"),
        ("simulate sotopia OUT --set stackelberg", "Which 90 they are is not in the paper"),
        ("simulate negotiation OUT --agents concedin", "did you mean 'conceding'?"),
        ("simulate negotiation OUT --agents ,", "nothing to play"),
        ("simulate negotiation OUT --contexts nowhere.txt", "nowhere.txt: no such file"),
        ("simulate negotiation OUT --agents base", "give --model, or write base@MODEL"),
        ("simulate negotiation OUT --agents fair~", "give --model, or write fair~@MODEL"),
        (
            f"simulate avalon OUT --rule roles={FIVE},minion",
            "3 evil of 6; good players outnumber evil ones, and evil are 2 of 5",
        ),
        (f"simulate avalon OUT --rule roles=merlin,{FIVE[:-9]}", "one Merlin and one Assassin"),
        ("simulate avalon OUT --rule last_team=stays", "the last team 'stays'"),
        ("simulate avalon OUT --rule sizes=2,3", "1, 3 or 5 quests"),
        ("simulate avalon OUT --rule sizes=two", "sizes"),
        ("simulate avalon OUT --rule size=2", "did you mean 'sizes'"),
        ("simulate avalon OUT --agents clams", "did you mean 'claims'"),
        ("simulate avalon OUT --agents strategist@0", "0 simulations; 1 to 100,000"),
        ("simulate avalon OUT --agents base", "no language model is chosen"),
        ("simulate werewolf OUT --rule roles=werewolf,werewolf,seer,guardian,villager,villager", "6 players"),
        ("simulate werewolf OUT --rule roles=werewolf,seer,seer,villager", "2 seer"),
        ("simulate werewolf OUT --rule tie=none", "--rule: tie = 'none': Input should be 'lot' or 'nobody'"),
        ("simulate werewolf OUT --rule tye=lot", "--rule 'tye': did you mean 'tie'"),
        ("simulate werewolf OUT --agents sla", "needs what it is made of behind an @, as sla@FILE"),
        ("simulate werewolf OUT --act-limit 0", "nothing to play"),
        ("tournament werewolf OUT --agents randm", "did you mean 'random'?"),
        ("tournament werewolf OUT", "--agents"),
        ("tournament werewolf OUT --agents random --rule players=13", "players = 13: 3 to 12 play"),
        ("tournament werewolf OUT --agents random,random", "is there twice"),
        ("tournament werewolf OUT --agents base", "--model"),
        ("tournament sotopia OUT --agents conceding", "two agents at least"),
        ("tournament sotopia OUT", "--agents"),
        ("tournament sotopia OUT --agents conceding,randm", "did you mean 'random'?"),
        ("tournament table OUT", "no episodes.jsonl"),
        ("tournament table OUT --out x.txt", "--out"),
        ("tournament werewolf OUT --agents random --against random", "of a league of teams (--teams)"),
        ("tournament werewolf OUT --agents random --teams --against claims", "one of those that play: random"),
        ("tournament sotopia OUT --agents conceding,random --partner moody", "'moody': one of conceding, random"),
        ("tables stackelberg --intents a=0", "--intents 'a=0': give an agent and a whole number above 0"),
        ("tables stackelberg --instances a=much", "--instances 'a=much'"),
        ("tables stackelberg --reward a", "--reward 'a': give an agent and what it is"),
        ("tables stackelberg --backend a=m --backend a=n", "'a' is there twice"),
        ("tables stackelberg --persuasion none.jsonl", "no such file"),
        ("tasks sotopia list --set savoir-hard", "What is needed: a folder"),
        ("tasks sotopia list --tasks nowhere", "no such file or folder"),
        ("tasks sotopia sample x.json", "must end in .toml"),
        ("tasks sotopia sample x.toml -n 900", "900 tasks are asked for"),
        ("play negotiation OUT --as 3", "--as 3: no such seat"),
        ("play negotiation OUT --called fair", "--called 'fair' is an agent's name"),
        ("play negotiation OUT --with concedin", "did you mean 'conceding'"),
        ("play negotiation OUT --report", "--report: of which study? Give --study FILE.toml, too"),
        ("play negotiation OUT --with base", "no language model is chosen: give --model"),
        ("play sotopia OUT --as Nobody", "--as 'Nobody': no such character"),
        ("play sotopia OUT --called base", "--called 'base' is an agent's name"),
        ("play sotopia OUT --with base", "no language model is chosen: give --model"),
        ("play sotopia OUT --with concedin", "did you mean 'conceding'"),
        ("play sotopia OUT --scenario bike", "no scenario 'bike'"),
    ],
)
def test_bad_input_ends_with_code_2(tmp_path, capsys, monkeypatch, command, message):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    assert called("world", *command.split()) == 2
    assert message in " ".join(capsys.readouterr().err.split()) and not list(tmp_path.rglob("*.parquet"))


@pytest.mark.parametrize("game", ["sotopia", "negotiation", "werewolf"])
def test_without_a_terminal_it_ends_with_code_2(tmp_path, capsys, monkeypatch, game):
    monkeypatch.setattr(sys, "stdin", (tmp_path / "lines").open("w+"))
    assert called("world", "play", game, tmp_path / "one") == 2
    assert "a person plays in a terminal" in capsys.readouterr().err and not (tmp_path / "one").exists()
