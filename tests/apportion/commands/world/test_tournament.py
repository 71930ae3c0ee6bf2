import json
import os
import random
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from apportion.cli import main
from apportion.corpus.builder import CorpusRows
from apportion.corpus.corpus import Corpus
from apportion.environments.episode_log import LOG, read_log
from tests.apportion.called import called
from tests.environments.sotopia.test_simulation import talks
from tests.llm_client.openai_server import Fault, OpenAIServer, serving

SMALL = ("--scenario", "used_bicycle", "--scenario", "surprise_party", "--pairs", "3", "--agents", "conceding,random")


run = partial(called, "world", "tournament")


def written(folder: Path) -> dict[str, bytes]:
    """All that a tournament writes but its report, which names the folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "import_report.json"}


def test_it_is_a_corpus_and_a_table_and_says_what_it_wrote(tmp_path, capsys):
    out = tmp_path / "cup"
    assert run("sotopia", str(out), *SMALL) == 0
    told = capsys.readouterr().out
    assert "24 episodes of 6 tasks" in told and "| agent | GOAL | SEC | FIN |" in told and "| conceding | " in told
    assert f"wrote {out} (a corpus), {out / 'tournament.json'} and {out / 'tournament.md'}" in told
    assert f"next: apportion inspect {out}" in told
    text = (out / "tournament.md").read_text()
    assert text.startswith("# Tournament of conceding, random") and "| conceding – random | " in text
    document = json.loads((out / "tournament.json").read_text())
    assert [one["dimension"] for one in document["dimensions"]] == ["GOAL", "SEC", "FIN"]
    assert len(Corpus.open(out).session_ids()) == 24
    assert run("sotopia", str(out), *SMALL, "--json") == 0
    assert json.loads(capsys.readouterr().out) == document


def test_all_pairs_play_the_same_tasks_with_the_same_seeds(tmp_path):
    out = tmp_path / "cup"
    assert run("sotopia", str(out), *SMALL, "--repeats", "2") == 0
    seeds: dict[tuple, set] = {}
    for episode in read_log(out / LOG).values():
        seating = tuple(called for _, called in episode.opening["agents"])
        task = (episode.opening["about"]["scenario"], tuple(name for name, _ in episode.opening["agents"]))
        seeds.setdefault(seating, set()).add((task, episode.opening["seed"]))
    assert len(seeds) == 4 and len({frozenset(found) for found in seeds.values()}) == 1
    assert len(next(iter(seeds.values()))) == 12  # 6 tasks, twice, each time with a seed of its own.


def test_a_corpus_of_simulate_is_another_one(tmp_path, capsys):
    out = tmp_path / "cup"
    with pytest.raises(SystemExit):
        main(["world", "simulate", "sotopia", str(out), *SMALL])
        raise SystemExit(0)
    assert run("sotopia", str(out), *SMALL) == 2
    assert "does not come from this" in capsys.readouterr().err
    assert run("table", str(out)) == 0  # Its table can be made all the same.
    assert "24 episodes of 6 tasks" in capsys.readouterr().out


def test_the_log_cut_anywhere_gives_the_same_table(tmp_path):
    """A kill leaves any beginning of the log, and neither tables nor a report."""
    whole = tmp_path / "whole"
    assert run("sotopia", str(whole), *SMALL) == 0
    log, draw = (whole / LOG).read_bytes(), random.Random(0)
    for number in range(5):
        out = tmp_path / f"cut{number}"
        out.mkdir()
        (out / "import.json").write_bytes((whole / "import.json").read_bytes())
        (out / LOG).write_bytes(log[: draw.randrange(len(log))])
        assert run("sotopia", str(out), *SMALL) == 0
        assert written(out) == written(whole)


@pytest.mark.slow
def test_killed_with_9_the_same_command_ends_with_the_same_table_and_pays_once(tmp_path):
    with serving(OpenAIServer(answer=talks, latency_s=0.02)) as server:
        arguments = (
            *("--agents", "base,conceding", "--scenario", "used_bicycle", "--pairs", "2"),
            *("--model", "m", "--base-url", server.url, "--concurrency", "2"),
        )
        tournament = f"-m apportion world tournament sotopia {tmp_path / 'killed'}".split()
        command = [sys.executable, *tournament, *arguments]
        killed = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=Path.cwd())
        deadline = time.monotonic() + 60
        while len(server.requests) < 6 and time.monotonic() < deadline:
            time.sleep(0.005)
        os.kill(killed.pid, signal.SIGKILL)
        killed.wait()
        assert len(server.requests) >= 6
        time.sleep(0.1)
        before = len(server.requests)
        assert run("sotopia", str(tmp_path / "killed"), *arguments) == 0
        after = len(server.requests)
        assert run("sotopia", str(tmp_path / "whole"), *arguments) == 0
        needed = len(server.requests) - after
    names = ("tournament.json", "tournament.md", "sessions.parquet", "utterances.parquet", "ratings.parquet")
    for name in names:
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert after - before < needed and after <= needed + 2  # Twice are asked those alone that were in flight.


def test_the_cost_is_told_before_and_asks_nobody(tmp_path, capsys):
    with serving(OpenAIServer(answer=talks)) as server:
        prices = tmp_path / "prices.toml"
        prices.write_text('[models]\n"m" = { input = 1, output = 2, batch = 0.5 }\n')
        arguments = (
            *("sotopia", str(tmp_path / "cup"), "--agents", "base,react,conceding", "--scenario", "used_bicycle"),
            *("--model", "m", "--base-url", server.url, "--prices", str(prices)),
        )
        assert run(*arguments, "--dry-run", "--json") == 0
        told = json.loads(capsys.readouterr().out)
        assert told["episodes"] == 45 and told["language_models"][0]["usd"] > 0
        assert told["language_models"][0]["requests"] == 45 * 20 * 2 // 3
        assert run(*arguments, "--dry-run") == 0 and "nothing was done" in capsys.readouterr().out
        assert run(*arguments, "--preview", "1") == 0 and "Your goal" in capsys.readouterr().out
        assert run(*arguments, "--budget", "0.0001") == 1
        assert "budget" in capsys.readouterr().err.lower()
        assert len(server.requests) <= 20
    assert not (tmp_path / "cup" / "tournament.json").exists()


def test_episodes_that_failed_are_told_and_the_rest_is_a_table(tmp_path, capsys):
    too_long = Fault(400, "too long", "context_length_exceeded")
    with serving(OpenAIServer(refuse=lambda body: too_long)) as server:
        arguments = (
            *("sotopia", str(tmp_path / "cup"), "--agents", "base,conceding", "--scenario", "used_bicycle"),
            *("--pairs", "2", "--model", "m", "--base-url", server.url),
        )
        assert run(*arguments) == 1
    told = capsys.readouterr()
    assert "6 episodes failed or have no score: see" in told.err and "2 episodes of 2 tasks" in told.out


def test_the_table_of_a_judged_copy(tmp_path, capsys):
    assert run("sotopia", str(tmp_path / "cup"), *SMALL) == 0
    corpus, rows = Corpus.open(tmp_path / "cup"), CorpusRows()
    for session in corpus.iter_sessions():
        for speaker in {turn.speaker for turn in session.turns}:
            rows.rating(session.session_id, ("environment", speaker), "overall", 3.0, (-3, 5), annotator="paper@m")
    judged = tmp_path / "judged"
    Corpus.of(judged, {**corpus.tables, "ratings": rows.tables()["ratings"]}).write(judged)
    (judged / LOG).write_bytes((tmp_path / "cup" / LOG).read_bytes())
    capsys.readouterr()
    assert run("table", str(judged), "--by", "paper@m", "--out", str(tmp_path / "t.md")) == 0
    assert "## overall by paper@m" in capsys.readouterr().out
    assert "scored by paper@m" in (tmp_path / "t.md").read_text()
    assert run("table", str(judged), "--by", "paper@m", "--out", str(tmp_path / "t.json"), "--json") == 0
    assert json.loads(capsys.readouterr().out) == json.loads((tmp_path / "t.json").read_text())
