import hashlib
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from apportion.corpus.corpus import Corpus
from apportion.environments.deduction.league import read_matches
from apportion.environments.episode_log import LOG
from tests.apportion.called import called
from tests.llm_client.openai_server import Body, OpenAIServer, completion, serving

CONCURRENCY, KILLS = 8, 8


run = partial(called, "world", "tournament")


def written(folder: Path) -> dict[str, bytes]:
    """All that a league writes but its report, which names the folder, and the replies."""
    kept = ("import_report.json", "replies.sqlite")
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.startswith(kept)}


def plays(body: Body) -> Body:
    """A model that speaks, each time in other words, and otherwise leaves it to the default act."""
    text = body["messages"][1]["content"]
    mark = hashlib.sha256(text.encode()).hexdigest()[:8]
    speaks = "these acts: speak" in text
    reply = {"act": "speak" if speaks else "none", "players": None, "text": f"I say {mark}." if speaks else ""}
    return completion(json.dumps(reply))


def asking(server: OpenAIServer, agents: str, matches: int) -> tuple[str, ...]:
    model = ("--model", "m", "--base-url", server.url, "--concurrency", str(CONCURRENCY))
    return ("--agents", agents, "--matches", str(matches), "--most-unusable", "1", *model)


def test_a_league_is_a_corpus_with_tables(tmp_path, capsys):
    out = tmp_path / "league"
    assert run("werewolf", str(out), "--agents", "random", "--matches", "20") == 0
    told = capsys.readouterr().out
    assert "werewolf: 20 matches of 20 deals, simulated" in told and "Team village" in told
    assert f"next: apportion world tables stackelberg {out}" in told
    document = json.loads((out / "tournament.json").read_text())
    assert [table["key"] for table in document["tables"]][:2] == ["by_team", "pairings"]
    assert len(Corpus.open(out).session_ids()) == 20
    before = written(out)
    assert run("werewolf", str(out), "--agents", "random", "--matches", "20", "--json") == 0
    assert json.loads(capsys.readouterr().out) == document and written(out) == before
    assert run("table", str(out), "--out", str(tmp_path / "t.md")) == 0
    assert (tmp_path / "t.md").read_text() == (out / "tournament.md").read_text()
    assert run("table", str(out), "--out", str(tmp_path / "t.json"), "--json") == 0
    assert json.loads((tmp_path / "t.json").read_text()) == document
    capsys.readouterr()
    assert run("table", str(out), "--by", "m") == 2 and "leave it out" in capsys.readouterr().err


def test_a_league_of_a_larger_cast(tmp_path, capsys):
    rules = ("--rule", "roles=merlin,percival,servant,servant,morgana,mordred,assassin")
    assert run("avalon", str(tmp_path / "league"), "--agents", "claims,random", "--matches", "6", *rules) == 0
    told = capsys.readouterr().out
    assert "avalon: 6 matches of 6 deals" in told and "Team good" in told
    assert run("avalon", str(tmp_path / "other"), "--agents", "claims", "--rule", "players=11") == 2
    assert "players = 11; 5 to 10 play" in capsys.readouterr().err


@pytest.mark.slow
def test_another_pool_has_the_same_deals_and_team_against_team_has_them_for_every_pair(tmp_path):
    with serving(OpenAIServer(answer=plays)) as server:
        model = ("--model", "m", "--base-url", server.url)
        assert run("werewolf", str(tmp_path / "a"), "--agents", "random", "--matches", "2") == 0
        assert (
            run(
                "werewolf",
                str(tmp_path / "b"),
                "--agents",
                "random,base",
                "--matches",
                "2",
                *model,
                "--most-unusable",
                "1",
            )
            == 0
        )
        assert (
            run(
                "werewolf",
                str(tmp_path / "c"),
                "--agents",
                "random,base",
                "--matches",
                "1",
                "--teams",
                *model,
                "--most-unusable",
                "1",
            )
            == 0
        )

    def deals(name: str) -> list[list[str]]:
        (matches,) = read_matches(tmp_path / name)
        return [[seat.role for seat in match.seats] for match in matches.matches]

    assert deals("a") == deals("b") and deals("c") == deals("a")[:1] * 4
    (teams,) = read_matches(tmp_path / "c")
    assert {tuple(match.sole(team) for team in teams.teams) for match in teams.matches} == {
        (one, other) for one in ("random", "base@m") for other in ("random", "base@m")
    }


def test_the_cost_is_told_before_and_asks_nobody(tmp_path, capsys):
    with serving(OpenAIServer(answer=plays)) as server:
        arguments = ("werewolf", str(tmp_path / "x"), *asking(server, "random,base", 50))
        assert run(*arguments, "--dry-run", "--json") == 0
        told = json.loads(capsys.readouterr().out)
        assert told["episodes"] == 50 and told["language_models"][0]["requests"] > 50
        assert run(*arguments, "--teams", "--dry-run") == 0 and "200 episodes" in capsys.readouterr().out
        assert run(*arguments, "--preview", "1") == 0 and "You are Player" in capsys.readouterr().out
        assert not server.requests and not (tmp_path / "x").exists()


def test_a_whole_pool_by_one_file_says_its_price_before_anybody_is_asked(tmp_path, capsys):
    """`--config` names who plays and how often; the price stands before the refusal without consent."""
    pool = tmp_path / "pool.toml"
    pool.write_text(
        'agents = ["random", "react", "recon", "react+refiner"]\nmatches = 3\nmodel = "gpt-4.1"\nrule = ["players=4"]\n'
    )
    assert run("werewolf", str(tmp_path / "x"), "--config", str(pool)) == 2
    told = capsys.readouterr().err
    price, consent = told.index("gpt-4.1: at most"), told.index("--allow-host")
    assert told.startswith("3 episodes\n") and price < told.index("at most about $") < consent
    assert run("werewolf", str(tmp_path / "x"), "-c", str(pool), "--dry-run", "--matches", "2", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["episodes"] == 2 and document["language_models"][0]["input_tokens"] > 1000


def test_teams_against_named_agents_leave_the_other_pairs_out(tmp_path, capsys):
    out = tmp_path / "duel"
    options = ("--agents", "random,claims,bayes", "--teams", "--against", "random", "--matches", "2")
    assert run("onuw", str(out), *options) == 0
    (matches,) = read_matches(out)
    pairs = {frozenset(match.sole(team) for team in matches.teams) for match in matches.matches}
    assert pairs == {frozenset({"random"}), frozenset({"random", "claims"}), frozenset({"random", "bayes"})}
    assert len(matches.matches) == 2 * 5
    assert run("onuw", str(out), *options[:3], "--matches", "2") == 2  # Another league than the one that is there.


def rows(cache: Path) -> int:
    with closing(sqlite3.connect(cache)) as opened:
        return int(opened.execute("SELECT COUNT(*) FROM replies").fetchone()[0])


@pytest.mark.slow
def test_killed_at_eight_random_moments_the_table_is_the_same_and_no_reply_is_paid_twice(tmp_path):
    """But those that were on their way when it was killed: at most as many as are asked at once."""
    chance, lost = random.Random(5), 0
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    with serving(OpenAIServer(answer=plays, latency_s=0.06)) as server:
        arguments = asking(server, "random,base", 60)
        command = [sys.executable, "-m", "apportion", "world", "tournament", "werewolf", str(killed), *arguments]
        for _ in range(KILLS):
            before = len(server.requests)
            life = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=Path.cwd())
            while len(server.requests) == before:
                assert life.poll() is None
                time.sleep(0.001)
            time.sleep(chance.uniform(0, 0.2))
            os.kill(life.pid, signal.SIGKILL)
            life.wait()
            time.sleep(0.2)  # The server answers what it had, to nobody.
            in_flight = len(server.requests) - rows(killed / "replies.sqlite") - lost
            assert 0 <= in_flight <= CONCURRENCY
            lost += in_flight
        assert run("werewolf", str(killed), *arguments, "--most-unusable", "1") == 0
        delivered = len(server.requests)
        assert delivered == rows(killed / "replies.sqlite") + lost
        assert run("werewolf", str(whole), *arguments, "--most-unusable", "1") == 0
        assert rows(killed / "replies.sqlite") == rows(whole / "replies.sqlite") == len(server.requests) - delivered
    ours, theirs = written(killed), written(whole)
    assert {name: data for name, data in ours.items() if name != LOG} == {n: d for n, d in theirs.items() if n != LOG}
    print(f"{KILLS} kills, {delivered} replies delivered, {lost} of them in flight at a kill")
