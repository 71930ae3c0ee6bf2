"""From a choice to a corpus."""

import hashlib
import json
from collections import Counter
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from apportion.corpus.corpus import Corpus
from apportion.environments.episode_log import read_log
from apportion.environments.simulation import write_corpus
from apportion.environments.sotopia.agents import ROSTER
from apportion.environments.sotopia.game import Rules
from apportion.environments.sotopia.simulation import LOG, SimulationChoice, seated
from apportion.foundation.errors import InputError
from apportion.llm_client.model_spec import CACHE, ModelSpec
from tests.llm_client.openai_server import Body, OpenAIServer, completion, serving

SMALL = SimulationChoice(("conceding", "random"), ("used_bicycle", "surprise_party"), pairs=2, repeats=2, seed=3)


def test_another_choice_does_not_go_there_but_when_asked_to(tmp_path: Path) -> None:
    other = SimulationChoice(scenarios=("used_bicycle",), pairs=1, rules=Rules("paper"))
    write_corpus(SMALL, tmp_path / "one")
    with pytest.raises(InputError, match="not empty"):
        write_corpus(other, tmp_path / "one")
    write_corpus(other, tmp_path / "one", overwrite=True)
    assert len(read_log(tmp_path / "one" / LOG)) == 1


def test_stopped_before_there_are_tables_the_same_choice_goes_on_in_its_folder_and_no_other(tmp_path: Path) -> None:
    def interrupt(ended: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_corpus(SMALL, tmp_path / "one", progress=interrupt)
    assert not (tmp_path / "one" / "sessions.parquet").exists()
    with pytest.raises(InputError, match="not empty"):
        write_corpus(SimulationChoice(), tmp_path / "one")
    write_corpus(SMALL, tmp_path / "one")
    write_corpus(SMALL, tmp_path / "two")
    for name in ("sessions", "utterances", "ratings", "backgrounds"):
        file = f"{name}.parquet"
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_a_damaged_log_is_named(tmp_path: Path) -> None:
    write_corpus(SMALL, tmp_path / "one")
    log = tmp_path / "one" / LOG
    log.write_bytes(log.read_bytes().replace(b'"step":2', b'"step":9', 1))
    with pytest.raises(InputError, match=r"episodes.jsonl: line \d+: no line of an episode log"):
        write_corpus(SMALL, tmp_path / "one")


@pytest.mark.parametrize("agents", [("conceding", "conceding"), ("base", "base@m")])
def test_an_agent_that_is_named_twice_is_told_before_there_is_a_folder(tmp_path: Path, agents: tuple[str, ...]) -> None:
    name = {"conceding": "conceding", "base": "base@m"}[agents[0]]
    chosen = ModelSpec("m", base_url="http://127.0.0.1:1/v1")
    with pytest.raises(InputError, match=f"{', '.join(agents)}: '{name}' is there twice; name each agent once"):
        write_corpus(SimulationChoice(agents=agents, chosen=chosen), tmp_path / "one")
    assert not (tmp_path / "one").exists()


def talks(body: Body) -> Body:
    """A model that offers, accepts what is offered, says goodbye; now and then answers nonsense first."""
    text = body["messages"][1]["content"]
    if len(body["messages"]) == 2 and hash_of(text) % 5 == 0:
        return completion("Well...")
    if '[physical action] "accept"' in text:
        return completion(json.dumps({"act": "leave", "text": ""}))
    offer = '[physical action] "offer: 85"'
    deed = "accept" if f"the other person {offer}" in text else "offer: 85"
    return completion(json.dumps({"act": "physical action", "text": deed}))


def hash_of(text: str) -> int:
    return int(hashlib.sha256(text.encode()).hexdigest()[:8], 16)


def test_a_language_model_plays_and_is_paid_for_each_reply_once(tmp_path: Path) -> None:
    with serving(OpenAIServer(answer=talks)) as server:
        chosen = ModelSpec("m", base_url=server.url)
        choice = SimulationChoice(("base",), ("used_bicycle",), pairs=3, repeats=2, chosen=chosen)
        report = write_corpus(choice, tmp_path / "one")
        asked = len(server.requests)
        again = write_corpus(choice, tmp_path / "one")
        assert len(server.requests) == asked and again.rows == report.rows
        assert (tmp_path / "one" / CACHE).exists() and report.left_out == ()
        (tmp_path / "one" / LOG).unlink()
        write_corpus(choice, tmp_path / "one")
        assert len(server.requests) == asked
    corpus = Corpus.open(tmp_path / "one")
    goals = [row["score"] for row in corpus.tables["ratings"].to_pylist() if row["name"] == "GOAL"]
    assert goals == [5.0] * 12
    assert {row["source"] for row in corpus.tables["sessions"].to_pylist()} == {
        "simulated: sotopia, agents base@m and base@m, judge rules"
    }


def test_with_a_partner_each_plays_itself_and_the_partner_alone() -> None:
    agents = ("conceding", "random", "moody")
    choice = SimulationChoice(agents, ("used_bicycle",), pairs=1, paired=True, partner="moody")
    pairs = {seating for _, _, seating in seated(choice)}
    assert pairs == {pair for pair in product(agents, repeat=2) if "moody" in pair or pair[0] == pair[1]}
    assert choice.total == 7 and choice.record()["partner"] == "moody"
    for wrong in (replace(choice, partner="nobody"), replace(choice, matches=3)):
        with pytest.raises(InputError, match=r"partner '(nobody|moody)': one of conceding, random, moody, without ma"):
            wrong.total  # noqa: B018


def test_matches_draw_every_seat_from_the_pool_and_take_the_tasks_by_turns(tmp_path: Path) -> None:
    """As many episodes as matches; another pool has the same tasks and seeds."""
    choice = SimulationChoice(("conceding", "random"), ("used_bicycle",), pairs=3, paired=True, matches=40)
    agents = {name: ROSTER.scripted(name) for name in choice.agents}
    plans, alone = choice.plans(agents), replace(choice, agents=("random",)).plans(agents)
    assert choice.total == len(plans) == 40 and choice.record()["matches"] == 40
    assert [plan.seed for plan in plans] == [plan.seed for plan in alone] and len({plan.name for plan in plans}) == 40
    seats = Counter(agent.called for plan in plans for agent in plan.agents.values())
    assert set(seats) == {"conceding", "random"} and min(seats.values()) > 25
    tasks = [tuple(plan.agents) for plan in plans]
    assert tasks[:3] == tasks[3:6] and len(set(tasks[:3])) == 3
    for odd in (replace(choice, matches=0), replace(choice, repeats=2), replace(choice, agents=())):
        with pytest.raises(InputError, match="nothing to play"):
            _ = odd.total
