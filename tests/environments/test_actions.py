"""What stands for an act that is none: the same in every world, counted, and no score by too many of them."""

import json
from dataclasses import replace

import pytest

from apportion.corpus.corpus import Corpus
from apportion.corpus.writer import place
from apportion.environments.actions import MOST_UNUSABLE, SILENT, UNUSABLE, Action, AgentAction, unrated, unusable_of
from apportion.environments.agents.agent import ScriptedAgent
from apportion.environments.collect_episodes import EpisodePlan, simulate
from apportion.environments.corpus_export import to_corpus
from apportion.environments.deduction.games import game_called
from apportion.environments.deduction.league import read_matches
from apportion.environments.environment import Observation
from apportion.environments.episode_log import LOG, MOST, UNRATED, LoggedEpisode, read_log, unusable_told
from apportion.environments.negotiation.bargaining.simulation import BargainingChoice
from apportion.environments.negotiation.casino.simulation import CasinoChoice
from apportion.environments.negotiation.simulation import NegotiationChoice
from apportion.environments.simulation import write_corpus
from apportion.environments.sotopia.evaluation.episodes import read_episodes
from apportion.environments.sotopia.reports.episode_scores import annotators, read_scored
from apportion.environments.sotopia.simulation import SimulationChoice
from apportion.environments.tournament.page import page
from apportion.environments.tournament.results import read_results
from apportion.environments.tournament.standings import standings
from apportion.environments.worlds import WORLDS
from apportion.foundation.errors import InputError

PAIRS = {"negotiation": NegotiationChoice, "bargaining": BargainingChoice, "casino": CasinoChoice}


def plan_of(world: str, agent) -> EpisodePlan:
    """An episode of a world, with ``agent`` in every seat."""
    if world == "sotopia":
        return SimulationChoice(("x",), ("used_bicycle",), pairs=1).plans({"x": agent})[0]
    if world in PAIRS:
        return PAIRS[world](("random",), games=1).plans({"random": agent})[0]
    game = game_called(world)
    make = lambda: game.make(game.options(), None)  # noqa: E731
    return EpisodePlan("one", make, dict.fromkeys(make().agents, agent), 1, game.about(game.options()))


def garbage(view: Observation) -> Action:
    act = view.stand_in(UNUSABLE, "no JSON")
    assert act is not None and act.stands
    return act


GARBAGE = ScriptedAgent("garbage", garbage)


@pytest.mark.parametrize("world", [world.name for world in WORLDS])
def test_garbage_plays_every_world_to_its_end_gains_nothing_and_has_no_score(world, tmp_path) -> None:
    plan = plan_of(world, GARBAGE)
    (played,) = simulate([plan], tmp_path / LOG).played
    game, steps = played.environment, played.environment.steps
    assert game.over and all(acts == stand > 0 for stand, acts in unusable_of(steps).values())
    if world in PAIRS:
        assert all(values["points"] == (5.0 if world == "casino" else 0.0) for values in game.outcome().values())
    made = to_corpus(simulate([plan], tmp_path / LOG))
    assert made.tables["ratings"].num_rows == 0
    assert "its ratings alone" in str(made.left_out[-1]) and "a share above 0.25" in str(made.left_out[-1])
    logged = read_log(tmp_path / LOG)
    assert not logged[plan.name].rated and unusable_told(logged.values()).startswith("Unusable acts: garbage ")
    with pytest.raises(InputError, match=r"no episode has ended with a score.*Unusable acts: garbage"):
        read_results(tmp_path)
    if world not in (*PAIRS, "sotopia"):
        (matches,) = read_matches(tmp_path)
        assert matches.matches == () and matches.unfinished == (plan.name,) and matches.unusable


@pytest.mark.parametrize("world", ["negotiation", "bargaining"])
def test_what_gives_nothing_away_in_place_of_an_act_is_heard_and_replayed_as_what_it_is(world) -> None:
    game = plan_of(world, GARBAGE).make()
    game.reset(1)
    for _ in range(3):
        game.do(garbage(Observation(game, game.acting()[0])))
    assert all(text for _, text in game.utterances(game.steps)) and len(game.steps) == 3
    again = plan_of(world, GARBAGE).make()
    again.replay(1, [tuple(AgentAction(a, Action.of(act.record())) for a, act in moves) for moves in game.steps])
    assert again.steps == game.steps and again.outcome() == game.outcome()
    assert all(one.data is None or UNUSABLE not in str(one.data) for _, one in getattr(game, "heard", []))


def test_a_share_up_to_the_most_leaves_the_score() -> None:
    def step(act: Action) -> tuple[AgentAction, ...]:
        return (AgentAction("ann", act),)

    bad, good = step(Action(SILENT).marked(UNUSABLE, "x")), step(Action(SILENT))
    assert unrated([bad, good, good, good]) is None and unrated([good]) is None and unrated([]) is None
    assert unrated([bad, good, good]) == "1 of 3 acts of ann are unusable, a share above 0.25"
    assert unrated([bad, good], 0.5) is None and MOST_UNUSABLE == 0.25
    # Silence that an agent has chosen is an act; logs of before have the mark alone.
    assert Action.of([SILENT, "", {UNUSABLE: "x"}]).stands and Action(SILENT).plain == Action(SILENT)
    assert Action("propose", "", [0, 1, 0]).marked(UNUSABLE, "x").plain == Action("propose", "", [0, 1, 0])


def test_below_the_most_there_is_a_score_and_the_tables_tell_what_was_none(tmp_path) -> None:
    def mostly(view: Observation) -> Action:
        return Action("disagree") if "disagree" in view.legal else garbage(view)

    simulate([plan_of("negotiation", ScriptedAgent("mostly", mostly))], tmp_path / LOG)
    results = read_results(tmp_path)
    # The first act, and both selections.
    assert results.unusable == "Unusable acts: mostly 3 of 22. Sessions without a score for it: 0."
    assert results.unusable in page(standings(results), "Tournament")


@pytest.mark.parametrize("most", [MOST_UNUSABLE, 1.0])
def test_a_log_of_before_is_held_to_its_acts(most, tmp_path) -> None:
    """Its acts are marked, and nothing says that they were looked at; what was played with another share is left."""
    plan = replace(plan_of("sotopia", GARBAGE), most_unusable=most)
    simulate([plan], tmp_path / LOG)
    new = read_log(tmp_path / LOG)[plan.name]
    assert new.closing is not None and new.closing[MOST] == most and new.rated is (most == 1.0)
    closing = {key: value for key, value in new.closing.items() if key not in (MOST, UNRATED)}
    old = LoggedEpisode(new.opening, new.steps, closing)
    assert not old.rated and "(its log is from before that was looked at)" in str(old.unrated)
    assert unusable_told([old]).endswith("Sessions without a score for it: 1.")
    assert LoggedEpisode(new.opening, [], closing).rated and LoggedEpisode(new.opening, new.steps).unrated is None


def test_a_corpus_of_before_has_nothing_of_it_in_its_tables(tmp_path) -> None:
    """Simulated when every session was rated: neither `tables`, nor a tournament, nor a judge counts it now."""
    made = simulate([replace(plan_of("sotopia", GARBAGE), most_unusable=1.0)], tmp_path / LOG)
    place("simulate sotopia", tmp_path, to_corpus(made), {})
    assert annotators(read_scored([Corpus.open(tmp_path)]))
    lines = [json.loads(line) for line in (tmp_path / LOG).read_text().splitlines()]
    del lines[-1]["end"][MOST]
    (tmp_path / LOG).write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert not annotators(read_scored([Corpus.open(tmp_path)]))
    (unread,) = read_episodes(Corpus.open(tmp_path)).unread
    assert "its log leaves it without a score" in unread.message and "from before" in unread.message
    with pytest.raises(InputError, match=r"no episode has ended with a score.*Sessions without a score for it: 1"):
        read_results(tmp_path)


def test_how_much_may_be_decides_what_a_corpus_is(tmp_path) -> None:
    choice = NegotiationChoice(("fair",), games=1)
    write_corpus(choice, tmp_path / "c", most_unusable=0.5)
    write_corpus(choice, tmp_path / "c", most_unusable=0.5)
    with pytest.raises(InputError, match=r"most_unusable: 0.5 before, none now"):
        write_corpus(choice, tmp_path / "c")
