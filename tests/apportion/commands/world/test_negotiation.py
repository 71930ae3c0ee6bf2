import json

import pytest

from apportion.environments.episode_log import LOG, read_log
from tests.apportion.called import called


def simulate(*arguments: str) -> int:
    return called("world", "simulate", "negotiation", *arguments)


def test_games_become_a_corpus_and_the_next_command_is_told(tmp_path, capsys):
    out = str(tmp_path / "play")
    assert simulate(out, "--agents", "conceding,fair", "--games", "3", "--most-acts", "8") == 0
    told = capsys.readouterr().out
    assert "12 sessions" in told
    assert "simulated" in told
    assert f"next: apportion inspect {out}" in told
    assert called("inspect", out) == 0
    assert "points" in capsys.readouterr().out


def test_contexts_of_a_file_are_played(tmp_path, capsys):
    contexts = tmp_path / "contexts.txt"
    contexts.write_text("1 3 3 1 1 4\n1 3 3 2 1 1\n")
    assert simulate(str(tmp_path / "play"), "--contexts", str(contexts), "--games", "1") == 0
    assert '"context":[[1,3,1],[3,1,4],[3,2,1]]' in (tmp_path / "play" / LOG).read_text()


def test_a_broken_context_is_told_by_its_line(tmp_path, capsys):
    contexts = tmp_path / "contexts.txt"
    for text, message in (
        ("0 3 3 1 2 4\n0 3 3 2 2 1\n", "there are 0 books; allowed are 1 to 4 of each"),
        ("9 1 1 1 1 0\n9 1 1 1 1 0\n", "there are 9 books; allowed are 1 to 4 of each"),
        ("1 3 3 1 1 5\n1 3 3 2 1 1\n", "worth 11 to seat 0; it must be 10"),
    ):
        contexts.write_text(text)
        assert simulate(str(tmp_path / "play"), "--contexts", str(contexts), "--games", "1") == 2
        assert f"lines 1 and 2: {message}" in capsys.readouterr().err.replace("everything together is ", "")


def test_what_it_would_cost_is_told_before(tmp_path, capsys):
    arguments = ("--agents", "base,conceding~", "--model", "gpt-4.1-mini", "--games", "2")
    assert simulate(str(tmp_path / "play"), *arguments, "--dry-run") == 0
    told = capsys.readouterr().out
    assert "8 episodes" in told
    assert "at most 176 requests" in told
    assert simulate(str(tmp_path / "play"), *arguments, "--preview", "1") == 0
    assert "You play one side of a negotiation" in capsys.readouterr().out
    assert not (tmp_path / "play").exists()


@pytest.mark.parametrize("world", ["negotiation", "bargaining", "casino"])
def test_a_tournament_writes_its_table(tmp_path, capsys, world):
    out = tmp_path / "cup"
    command = ("world", "tournament", world)
    assert called(*command, str(out), "--agents", "greedy,conceding,fair", "--games", "20") == 0
    told = capsys.readouterr().out
    assert "180 episodes of 20 tasks" in told
    assert "| greedy |" in told
    assert "advantage" in told
    table = json.loads((out / "tournament.json").read_text())
    assert table["judge"] == "rules"
    assert called("world", "tournament", "table", str(out)) == 0
    assert "Tournament of greedy, conceding, fair" in capsys.readouterr().out
    seeds = {}
    for episode in read_log(out / LOG).values():
        seating = tuple(called for _, called in episode.opening["agents"])
        seeds.setdefault(seating, []).append((json.dumps(episode.opening["about"]), episode.opening["seed"]))
    assert len(seeds) == 9 and len({tuple(sorted(found)) for found in seeds.values()}) == 1
    assert called(*command, str(tmp_path / "one"), "--agents", "greedy") == 2
    assert "two agents at least" in capsys.readouterr().err
    asking = ("--agents", "base,fair", "--model", "gpt-4.1-mini", "--games", "2", "--dry-run")
    assert called(*command, str(tmp_path / "dry"), *asking) == 0
    told = capsys.readouterr().out
    assert "8 episodes" in told and "nothing was done" in told and not (tmp_path / "dry").exists()
