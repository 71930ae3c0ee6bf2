"""verifiers 0.4.0 plays our worlds; a scripted server stands for its model."""

import asyncio
import json
import re
import sys
from dataclasses import replace
from unittest.mock import patch

import pytest

pytest.importorskip("verifiers", reason="verifiers 0.4 needs an environment of its own: it asks for openai 2")

from verifiers.v1.clients import EvalClientConfig, ModelContext
from verifiers.v1.utils.loaders import environment_class, taskset_class

from apportion.environments.deduction.avalon.game import Avalon
from apportion.environments.deduction.avalon.rules import Options as Teams
from apportion.environments.deduction.onuw.game import OneNight
from apportion.environments.deduction.onuw.rules import Options as Rounds
from apportion.environments.deduction.werewolf.game import Werewolf
from apportion.environments.deduction.werewolf.rules import Options
from apportion.environments.negotiation.casino.contexts import CONTEXTS
from apportion.environments.negotiation.casino.game import Casino
from apportion.environments.negotiation.contexts import Context
from apportion.environments.negotiation.game import Negotiation
from apportion.environments.wrappers import verifiers as ours
from apportion.environments.wrappers.verifiers import WorldEnvConfig, WorldTaskset, WorldTasksetConfig
from apportion.environments.wrappers.world_tasks import world_tasks
from tests.environments.wrappers.conformance import every_world
from tests.llm_client.openai_server import Fault, OpenAIServer, serving

pytestmark = pytest.mark.trainers
PACKAGE = re.compile(r"from apportion.*\n.*__all__ = .*")
"""The two lines that the module's own words tell to write."""


def streamed(text: str) -> Fault:
    """A reply as the server sent events that the harness asks for."""
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "m"}
    deltas = [({"role": "assistant", "content": text}, None), ({}, "stop")]
    events = [{**chunk, "choices": [{"index": 0, "delta": d, "finish_reason": why}]} for d, why in deltas]
    raw = "".join(f"data: {json.dumps(one)}\n\n" for one in [*events, "DONE"]).replace('"DONE"', "[DONE]")
    return Fault(raw=raw.encode(), headers=(("Content-Type", "text/event-stream"),))


def short(world):
    """The world with a game of few turns, each of which is a process of verifiers'."""
    games = {
        "negotiation": Negotiation(Context((1, 3, 1), ((3, 1, 4), (3, 2, 1))), 4),
        "casino": Casino(CONTEXTS[0], 4),
        "werewolf": Werewolf(Options(("werewolf", "seer", "guardian", "villager"), most_days=1)),
        "avalon": Avalon(Teams(("merlin", "servant", "assassin"), (1,))),
        "onuw": OneNight(Rounds(rounds=1)),
    }
    tasks = world_tasks(world)
    return replace(tasks, environments=(games[world],)) if world in games else tasks


AIMED = {
    "casino": {"propose", "select"},
    "werewolf": {"kill", "check", "guard", "vote"},
    "avalon": {"propose", "assassinate"},
    "onuw": {"vote"},
}
"""Acts with a target that are done here."""


def act_for(body):
    """An act that may be done, at a player where it can be, in the form that the system message asks for."""
    form, told = body["messages"][0]["content"], body["messages"][-1]["content"]
    kinds = re.findall(r"You may: ([^.\n]*)\.", told)[-1].split(", ")
    aimed = dict(re.findall(r"^- (\w+): .*?\(players: (\[[^]]*\])", told, re.MULTILINE))
    silent = ("none",) if "You play one person in a conversation" in form else ()
    wanted = (*silent, *aimed, "accept", "agree", "select", "refuse", "offer", "propose", "speak", *kinds)
    kind = next(one for one in wanted if one in kinds)
    fields = {}
    if aimed:
        fields = {"players": json.loads(aimed.get(kind, "null"))}
    elif items := re.findall(r'"(\w+)": <how many', form):
        fields = {"keep": dict.fromkeys(items, 1) if kind in ("propose", "select") else None}
    elif '"price"' in form:
        fields = {"price": 20 if kind == "offer" else None}
    return {"act": kind, **fields, "text": "Well." if kind == "speak" else ""}


def sensible(body):
    """The same as a reply."""
    return streamed(json.dumps(act_for(body)))


@pytest.fixture
def package(tmp_path, monkeypatch):
    (tmp_path / "apportion_worlds.py").write_text(PACKAGE.search(ours.__doc__)[0].replace("    ", ""))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("NO_KEY", "x")
    assert taskset_class("apportion-worlds") is WorldTaskset
    yield
    sys.modules.pop("apportion_worlds")


def episode(world, answer, **config):
    with serving(OpenAIServer(answer=answer)) as server, patch.object(ours, "world_tasks", short):
        made = WorldEnvConfig(taskset={"id": "apportion-worlds", "world": world}, **config)
        env = environment_class("apportion-worlds")(made)
        context = ModelContext(model="m", client=EvalClientConfig(base_url=server.url, api_key_var="NO_KEY"))

        async def run():
            async with env.serving():
                return await env.run_episode(next(iter(env.taskset)), context)

        return asyncio.run(run()), server.requests


@every_world
def test_every_seat_of_every_task_is_one_of_the_taskset(package, world):
    found = list(WorldTaskset(WorldTasksetConfig(id="apportion-worlds", world=world, repeats=2)))
    games = world_tasks(world).environments
    assert len(found) == sum(len(game.agents) for game in games) * 2
    assert len({task.data.name for task in found}) == len(found)
    assert all('"act"' in task.data.system_prompt and task.data.prompt is None for task in found)


@every_world
def test_each_seat_has_a_trace_with_its_outcome_and_each_turn_s_credit(package, world):
    played, requests = episode(world, sensible)
    assert played.ok, played.errors
    seats = {trace.info["seat"]: trace for trace in played.traces}
    assert len(seats) == len(played.traces) <= len(world_tasks(world).environments[0].agents)
    assert sum(trace.num_turns for trace in played.traces) == len(requests)
    for trace in played.traces:
        own = trace.info["outcome"][world_tasks(world).reward]
        assert trace.reward == own == trace.rewards["outcome"].score
        assert len(trace.info["credit"]) == trace.num_turns
        turns = [trace.rewards[f"turn_{turn}"] for turn in range(trace.num_turns)]
        assert [one.score for one in turns] == trace.info["credit"] and {one.weight for one in turns} == {0.0}
    assert {trace.agent.name for trace in played.traces} == {"player", "partner"}
    assert not any("Not allowed" in str(request["messages"]) for request in requests)
    assert AIMED.get(world, set()) <= {act_for(request)["act"] for request in requests}


def test_scripts_have_the_other_seats_and_who_plays_by_no_rules_has_the_least(package):
    played, requests = episode("onuw", lambda body: streamed('{"act": "fly"}'), others="random")
    (trace,) = played.traces
    assert played.ok and trace.agent.name == "player" and trace.reward == 0.0
    assert trace.info["credit"][-1] == 0.0 and len(requests) % 3 == 0
    assert "Not allowed" in requests[1]["messages"][-1]["content"]


def test_a_seat_whose_outcome_nobody_knows_has_failed_and_has_not_lost(package):
    """Who plays by no rules has the least; what the other one would have had is not known."""
    heard = []

    def answer(body):
        heard.append(body["messages"][1]["content"])
        return streamed('{"act": "fly"}') if heard[-1] == heard[0] else sensible(body)

    played, _ = episode("negotiation", answer)
    garbage, other = sorted(played.traces, key=lambda trace: not trace.ok)
    assert garbage.ok and garbage.rewards["outcome"].score == 0.0
    assert other.has_error and "outcome" not in other.rewards and other.info["reward"] is None
    assert (other.last_error.type, "not known" in other.last_error.message) == ("NoOutcomeError", True)


def test_no_seat_has_lost_where_one_s_model_cannot_be_asked(package):
    heard = []

    def answer(body):
        heard.append(body["messages"][1]["content"])
        return sensible(body) if heard[-1] == heard[0] else Fault(status=404, message="no such model")

    played, _ = episode("negotiation", answer)
    assert len(played.traces) == 2 and not played.ok
    assert all(trace.has_error and trace.errors and not trace.rewards for trace in played.traces)
    assert [trace.last_error.type for trace in played.traces].count("NoOutcomeError") == 1


def test_equal_tasks_replay(package):
    (first,), (second,) = (episode("bargaining", sensible, others="fair")[0].traces for _ in range(2))
    assert first.info == second.info


def test_a_limit_is_no_act_and_a_model_that_cannot_be_asked_has_no_outcome(package):
    limits = {"max_turns": 1}
    played, requests = episode("negotiation", sensible, others="fair", player=limits)
    (trace,) = played.traces
    assert len(requests) == trace.num_turns == 1 and len(trace.info["credit"]) > 3 and trace.reward == 0.0
    broken, _ = episode("negotiation", lambda body: Fault(status=404, message="no such model"), others="fair")
    assert not broken.ok and not broken.traces[0].rewards
