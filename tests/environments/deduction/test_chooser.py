"""SLA and RL-ins: what a policy chooses, how it learns, and how a language model acts beneath it."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from statistics import fmean, stdev

import pytest

from apportion.environments.agents.agent import Agent, ScriptedAgent
from apportion.environments.agents.language_model import LanguageModelAgent
from apportion.environments.collect_episodes import play
from apportion.environments.deduction.base_game import WIN, Deduction
from apportion.environments.deduction.chooser import CANDIDATES, Choosing, Mind, Redrawn, mind_of, train
from apportion.environments.deduction.events import SPEAK
from apportion.environments.deduction.games import game_called
from apportion.environments.deduction.language_model import FORM
from apportion.environments.deduction.learned_table import LearnedTable, cast_of
from apportion.environments.environment import Action, Observation
from apportion.foundation.errors import InputError
from apportion.llm_client.request import ChatReply, ChatRequest
from apportion.llm_client.settings import LLMSettings


def made(kind: str, seed: str) -> Deduction:
    game = game_called(kind).make(game_called(kind).options(), None)
    game.reset(seed)
    return game


def empty(method: str, kind: str, rows: Mapping[str, tuple[float, ...]] | None = None) -> LearnedTable:
    return LearnedTable(method, kind, cast_of(made(kind, "0").rules), rows or {})


def speaking(kind: str, seed: str = "1") -> Observation:
    """Who speaks first."""
    game, script = made(kind, seed), game_called(kind).roster.scripted("claims")
    while SPEAK not in game.legal(game.acting()[0]):
        game.step({name: script.act(Observation(game, name)) for name in game.acting()})
    return Observation(game, game.acting()[0])


@pytest.mark.parametrize(("method", "kind"), [("sla", "werewolf"), ("rl-ins", "onuw")])
def test_every_candidate_is_allowed_and_has_features_of_its_own(method: str, kind: str) -> None:
    mind, game = mind_of(method, kind), made(kind, "7")
    several = 0
    while acting := game.acting():
        acts = {}
        for name in acting:
            view = Observation(game, name)
            thought = mind.candidates(view)
            assert all(view.problem(act) is None for act in thought.values())
            assert all(mind.features(one, act, view) for one, act in thought.items())
            several += len(thought) > 1
            acts[name] = view.draws.choice(list(thought.values()))
        game.step(acts)
    assert several > 5


def test_the_tactics_are_those_of_the_prompt() -> None:
    (note,) = [one.note for one in LanguageModelAgent("x", "llm-ins", LLMSettings(model="m"), answers, form=FORM).asked
               if one.note and one.note.choices]  # fmt: skip
    assert set(mind_of("rl-ins", "onuw").candidates(speaking("onuw"))) == set(note.choices)


def answers(request: ChatRequest) -> ChatReply:
    """A note, or a speech that tells which sample it is of."""
    fields = request.schema["properties"] if request.schema else {}
    if "act" in fields:
        return ChatReply(json.dumps({"act": SPEAK, "text": f"I suspect Player {request.sample % 7 + 1}."}), "stop")
    assert "tactic" not in fields, "the policy chooses it"
    return ChatReply(json.dumps(dict.fromkeys(fields, "None.")), "stop")


def file_of(table: LearnedTable, folder: Path) -> str:
    table.write(folder / "file.json")
    return str(folder / "file.json")


def test_a_model_is_asked_for_candidates_and_the_policy_chooses(tmp_path: Path) -> None:
    place, roster = file_of(empty("sla", "werewolf"), tmp_path), game_called("werewolf").roster
    agent = roster.scripted(f"claims+sla@{place}")
    assert agent.called == f"claims+sla@{place}" and not agent.paid
    asked: list[int] = []

    def counted(request: ChatRequest) -> ChatReply:
        asked.append(request.sample)
        return answers(request)

    model = LanguageModelAgent("base@m", "base", LLMSettings(model="m"), counted, form=FORM)
    view = speaking("werewolf")
    act = replace(roster.scripted(f"sla@{place}"), proposer=model).act(view)
    assert len(set(asked)) == CANDIDATES and asked[0] == view.number and act.text.startswith("I suspect")
    chooser = Choosing("x", mind_of("sla", "werewolf"), empty("sla", "werewolf"), proposer=model)
    assert chooser.paid and chooser.requests_an_act == CANDIDATES and chooser.request(view).sample == view.number
    with pytest.raises(AttributeError):
        _ = chooser.nothing


def test_the_policy_chooses_the_tactic_of_a_model(tmp_path: Path) -> None:
    from apportion.environments.deduction.chooser import RL_INS

    place = file_of(empty("rl-ins", "onuw"), tmp_path)
    model = LanguageModelAgent("llm-ins@m", "llm-ins", LLMSettings(model="m"), answers, form=FORM)
    agent = RL_INS.around(model, place, "both", None, None)
    view = speaking("onuw")
    assert agent.act(view).kind == SPEAK and agent.called == "both"
    with pytest.raises(InputError, match=r"'base@m' chooses no tactic; write llm-ins\+rl-ins@FILE"):
        RL_INS.around(replace(model, style="base", called="base@m"), place, "both", None, None)


def test_where_a_method_is_not_played_and_what_it_needs(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'sla' is not played in 'avalon'; there are sla in werewolf"):
        game_called("werewolf").roster.scripted(f"sla@{file_of(empty('sla', 'avalon'), tmp_path)}")
    for name, example in (("sla", "as sla@FILE"), ("claims+sla", r"a trained file .*as sla@FILE or NAME\+sla@FILE")):
        with pytest.raises(InputError, match=example):
            game_called("werewolf").roster.scripted(name)
    with pytest.raises(InputError, match=r"no agent 'strategst'; did you mean 'strategist'.*, lspo@FILE.*NAME.sla"):
        game_called("werewolf").roster.scripted("strategst")


def test_another_draw_of_the_same_view_is_another_and_the_first_is_the_view() -> None:
    view = speaking("werewolf")
    first, other = Redrawn(view, 0), Redrawn(view, 1)
    assert first.number == view.number != other.number and other.text == view.text


def test_reinforce_learns_which_of_two_acts_wins() -> None:
    """Whoever votes for Player 1 at once, whoever that is, is told by the features; the policy learns what helps."""
    mind = mind_of("sla", "werewolf")
    blind = Mind(mind.candidates, lambda name, act, view: (f"{view.facts.team} {act.kind} {name}",))
    returns: list[float] = []
    games = [made("werewolf", f"train/{number}") for number in range(60)]
    rivals = [game_called("werewolf").roster.scripted("claims")]
    table = train("sla", blind, games, rivals, lambda _, won: returns.append(won))
    assert len(returns) == 3 and any(row[0] for row in table.rows.values())
    train("sla", blind, [made("werewolf", "train/0")], rivals, lambda _, won: returns.append(won))
    assert len(returns) == 4  # Fewer games than one step takes are a step, too.
    again = [made("werewolf", f"train/{number}") for number in range(60)]
    assert table == train("sla", blind, again, rivals, lambda _, won: None)


def gained(method: str, kind: str, table: LearnedTable, games: int) -> list[float]:
    """By game what the policy's team got more than the same candidates drawn, both teams and both scripts in turn."""
    mind = mind_of(method, kind)
    learned, drawn = Choosing("l", mind, table), Choosing("d", mind, replace(table, rows={}), best=False)
    rivals = [game_called(kind).roster.scripted(name) for name in ("claims", "bayes")]
    found = []
    for number in range(games):
        got = []
        for mine in (learned, drawn):
            game = made(kind, f"final/{number}")
            team = sorted(set(game.teams.values()))[number % 2]
            seats: dict[str, Agent] = {
                name: mine if game.teams[game.role(name)] == team else rivals[number // 2 % 2] for name in game.agents
            }
            play(game, seats)
            ends = [game.outcome()[name][WIN] or 0.0 for name, agent in seats.items() if agent is mine]
            got.append(fmean(ends) if ends else 0.0)
        found.append(got[0] - got[1])
    return found


@pytest.mark.slow  # Some hundred games of league play.
@pytest.mark.parametrize(("method", "kind"), [("sla", "werewolf"), ("rl-ins", "onuw")])
def test_it_beats_a_random_choice_among_the_same_candidates(method: str, kind: str) -> None:
    rivals = [game_called(kind).roster.scripted(name) for name in ("claims", "bayes")]
    games = [made(kind, f"train/{number}") for number in range(500)]
    found = gained(method, kind, train(method, mind_of(method, kind), games, rivals, lambda _, won: None), 200)
    assert fmean(found) - 1.96 * stdev(found) / len(found) ** 0.5 > 0


def test_a_scripted_proposer_thinks_of_its_own_acts_alone() -> None:
    quiet = ScriptedAgent("quiet", lambda view: Action(SPEAK, "Hm."))
    table = empty("sla", "werewolf")
    assert Choosing("q", mind_of("sla", "werewolf"), table, proposer=quiet).act(speaking("werewolf")).text == "Hm."
