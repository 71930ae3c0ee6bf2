"""`apportion world tasks sotopia generate` and `accept`: the whole way with replies of a real model, to a corpus.

The replies are Claude's (Anthropic), of 2026-11-22, written in one sitting by one who knew the checks; vignettes and
items are our own.
"""

import json
from functools import partial
from pathlib import Path

import pytest

from apportion.cli import main
from apportion.corpus.corpus import Corpus
from apportion.environments.sotopia.sources.task_file import read_task_file
from tests.apportion.called import called

RECORDED = Path(__file__).parents[4] / "environments/sotopia/generation/recorded"
MODEL = ("--model", "claude", "--recorded", RECORDED / "claude.jsonl")


run = partial(called, "world", "tasks", "sotopia")


def decided(path: Path) -> Path:
    path.write_text(path.read_text().replace('accept = ""', 'accept = "yes"'))
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """The lists of all four kinds, each made for what was accepted before it, and what became of them: world.toml."""
    out = tmp_path_factory.mktemp("generated")
    assert run("generate", "characters", out / "c.toml", "-n", 5, *MODEL) == 0
    assert run("accept", decided(out / "c.toml"), "--out", out / "people.toml") == 0
    people = ("--tasks", out / "people.toml")
    assert run("generate", "relationships", out / "r.toml", "-n", 6, *people, *MODEL) == 0
    assert run("accept", decided(out / "r.toml"), *people, "--out", out / "related.toml") == 0
    related = ("--tasks", out / "related.toml")
    assert run("generate", "scenarios", out / "v.toml", "--from", RECORDED / "vignettes.csv", *related, *MODEL) == 0
    # One of the four items cannot be: the seller's target that is drawn lies below the least.
    assert run("generate", "sales", out / "s.toml", "--from", RECORDED / "items.csv", *related, *MODEL) == 1
    accepted = (decided(out / "v.toml"), decided(out / "s.toml"))
    assert run("accept", *accepted, *related, "--out", out / "world.toml") == 0
    return out


def test_what_a_real_model_made_up_keeps_the_rules_but_where_it_must_not(folder):
    text = "".join((folder / f"{name}.toml").read_text() for name in "crvs")
    failed = [line for line in text.splitlines() if line.startswith("failed") and line != "failed = []"]
    assert len(failed) == 1 and "the seller aims at 514.81 and the buyer at 900" in failed[0]
    space = read_task_file(folder / "world.toml")
    assert (len(space.characters), len(space.relationships), len(space.scenarios)) == (5, 6, 7)
    assert [one.name for one in space.scenarios if one.terms] == ["wooden_rowing_boat", "cargo_bicycle"]


def test_it_plays(folder, capsys):
    with pytest.raises(SystemExit):
        main(["world", "simulate", "sotopia", str(folder / "play"), "--tasks", str(folder / "world.toml"), "--json"])
    assert json.loads(capsys.readouterr().out)["rows"]["sessions"] == 21
    corpus = Corpus.open(folder / "play")
    goals = [row for row in corpus.tables["ratings"].to_pylist() if row["name"] == "GOAL"]
    deals = {row["score"] for row in goals if row["session_id"].startswith("cargo_bicycle")}
    assert len(goals) == 16 and all(0 < score < 10 for score in deals)


def test_the_same_replies_give_the_same_list(folder, tmp_path):
    assert run("generate", "characters", tmp_path / "c.toml", "-n", 5, *MODEL) == 0
    assert decided(tmp_path / "c.toml").read_bytes() == (folder / "c.toml").read_bytes()


def test_what_was_decided_is_not_replaced_unasked(folder, capsys):
    assert run("generate", "characters", folder / "c.toml", "-n", 5, *MODEL) == 2
    assert "c.toml exists. Use --force" in capsys.readouterr().err
    assert run("accept", folder / "c.toml", "--out", folder / "people.toml") == 2
    assert "people.toml exists. Use --force" in capsys.readouterr().err


def test_a_look_before_tells_requests_and_price_as_text_and_as_json(tmp_path, capsys):
    arguments = ("generate", "characters", tmp_path / "c.toml", "-n", 12, "--model", "gpt-4.1-mini")
    assert run(*arguments, "--dry-run") == 0
    told = capsys.readouterr().out
    assert "12 characters\ngpt-4.1-mini: 14 requests" in told and "nothing was sent" in told
    assert run(*arguments, "--dry-run", "--json") == 0
    assert json.loads(capsys.readouterr().out)["candidates"] == 12
    assert run(*arguments, "--preview", 1) == 0
    assert "LEAVES THIS MACHINE, with --allow-host api.openai.com only" in capsys.readouterr().out
    assert run(*arguments, "--preview", 1, "--json") == 0
    assert json.loads(capsys.readouterr().out)["requests_in_all"] == 14
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("generate", "characters", "x.toml"), "no language model is chosen: give --model"),
        (("generate", "characters", "x.toml", "--model", "m"), "would leave this machine for api.openai.com"),
        (("generate", "scenarios", "x.toml", "--model", "m"), "scenarios begin with a file: give --from"),
        (("generate", "stories", "x.toml"), "'stories' is not one of"),
        (("generate", "characters", "x.txt", *MODEL), "must end in .toml"),
        (("accept", "none.toml", "--out", "y.toml"), "none.toml: cannot be read"),
    ],
)
def test_what_cannot_be_is_told(arguments, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    assert run(*arguments) == 2
    assert message in capsys.readouterr().err and not (tmp_path / "x.toml").exists()


def test_the_result_as_json(tmp_path, capsys):
    assert run("generate", "characters", tmp_path / "c.toml", "-n", 5, *MODEL, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["candidates"], told["keep_all_rules"], told["failed"]) == (5, 5, [])
