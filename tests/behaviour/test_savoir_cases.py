"""What a credit method should say of four small dialogues: what carries the deal, and what only sounds kind.

After the cases of SAVOIR's section 5.5 and appendix E, in words of our own. The other side is a script that says what
moves it, so that what is right is known: the exact values are those of all 2^n histories.
"""

from dataclasses import dataclass

import numpy as np
import pytest

from apportion.decompose.shapley.values import shapley_values
from apportion.environments.actions import Action
from apportion.environments.agents.agent import ScriptedAgent
from apportion.environments.collect_episodes import play
from apportion.environments.environment import Observation
from apportion.environments.restored_episode import RestoredEpisode
from apportion.environments.role_assignment import EpisodeScore
from apportion.environments.rollout import Rollouts, RolloutUtility
from apportion.environments.sotopia.game import Rules, Sotopia
from apportion.environments.sotopia.goal_checks import PHYSICAL, OneNumber, Terms
from apportion.environments.sotopia.observation import LEAVE, NONE, SPEAK
from apportion.environments.sotopia.tasks import Character, Relationship, Scenario, Task

ANN, BOB = "Ann Lee", "Bob Ray"


def said(view: Observation, seat: int) -> str:
    """All that one seat has said and done so far."""
    return " | ".join(text for who, text in view.heard if who == seat)


@dataclass(frozen=True)
class Reading:
    """Says its lines one after the other; one that it has said it does not say again, then it is silent."""

    lines: tuple[Action, ...]
    called: str = "reading"
    paid: bool = False

    def act(self, view: Observation) -> Action:
        done = sum(who == view.seat for who, _ in view.heard)
        return self.lines[done] if done < len(self.lines) else Action(NONE)


def credit(lines, answer, worst, best, judge=None, weights=None, answered=False):
    """The exact value of each of the lines, said by the first seat; ``answer`` is the other's script.

    The session ends with the last line, so that the answer to it is what playing on brings, unless it was ``answered``.
    Who plays on for the first seat says nothing more: what is missing from a history stays unsaid.
    """
    scenario = Scenario("case", "Two people talk.", ("Reach it.", "Reach yours."), Relationship.STRANGER,
                        terms=Terms(OneNumber(worst, best)))  # fmt: skip
    begun = Sotopia(
        Task(scenario, (Character(ANN), Character(BOB))), Rules(most_acts=2 * len(lines) + 2, most_silent=0)
    )
    agents = {ANN: Reading(lines), BOB: ScriptedAgent("script", answer)}
    game = begun.clone()
    play(game, agents)
    silent = {**agents, ANN: ScriptedAgent("silent", lambda view: Action(NONE))}
    given = {} if judge is None else {"judge": judge}
    steps = tuple(game.steps[: 2 * len(lines) - (0 if answered else 1)])
    reopened = RestoredEpisode("case", begun, steps, silent, **given)
    turns = reopened.turns_of(ANN)[: len(lines)]
    rollouts = Rollouts(reopened, ANN, turns, RolloutUtility(weights or {"GOAL": 1.0}), rollouts=1)
    found = shapley_values(rollouts.played_on, len(turns))
    whole, nothing = (rollouts.played_on(frozenset(one))[0] for one in (range(len(turns)), ()))
    assert found.values.sum() == pytest.approx(whole - nothing)
    return dict(zip([act.text for act in lines], found.values, strict=True)), whole


def test_honesty_about_a_defect_with_its_remedy_carries_the_sale():
    """5.5: the buyer closes only with somebody who has told of the fault and of what mends it."""
    lines = (
        Action(SPEAK, "Welcome! The wardrobe is solid oak."),
        Action(SPEAK, "One hinge is broken, and I have the spare part here for you."),
        Action(SPEAK, "It has been a joy to own."),
        Action(PHYSICAL, "offer: 180"),
    )

    def buyer(view: Observation) -> Action:
        heard = said(view, 0)
        if "offer: 180" in heard:
            return Action(PHYSICAL, "accept") if "broken" in heard and "spare part" in heard else Action(LEAVE)
        return Action(SPEAK, "Is there anything that I should know?")

    values, reached = credit(lines, buyer, (150.0, 200.0), (200.0, 150.0))
    welcome, honest, joy, offer = values.values()
    assert reached == 6.0 and honest == pytest.approx(3.0) and offer == pytest.approx(3.0)
    # What sounds nice and moves nobody is worth nothing.
    assert [welcome, joy] == pytest.approx([0.0, 0.0])


def test_an_answer_that_was_recorded_goes_along_with_the_act_before_it_whatever_is_left_out():
    """A limit of H(S) itself: once the buyer's yes is in the session, the offer alone has it, and honesty nothing."""
    lines = (Action(SPEAK, "One hinge is broken, and I have the spare part here."), Action(PHYSICAL, "offer: 180"))

    def buyer(view: Observation) -> Action:
        heard = said(view, 0)
        return Action(PHYSICAL, "accept") if "broken" in heard and "offer" in heard else Action(SPEAK, "Well?")

    open_end, _ = credit(lines, buyer, (150.0, 200.0), (200.0, 150.0))
    answered, _ = credit(lines, buyer, (150.0, 200.0), (200.0, 150.0), answered=True)
    assert list(open_end.values()) == pytest.approx([3.0, 3.0]) and list(answered.values()) == pytest.approx([0.0, 6.0])


def test_leaving_the_table_carries_the_last_concession_though_it_sounds_unkind():
    """E.2: the seller goes down to 480 only for a buyer who is about to leave and can pay at once."""
    lines = (
        Action(SPEAK, "Could you tell me more about the telephones?"),
        Action(SPEAK, "Thank you for being so patient with me."),
        Action(SPEAK, "I would pay at once; otherwise I will look elsewhere."),
        Action(PHYSICAL, "accept"),
    )

    def seller(view: Observation) -> Action:
        heard = said(view, 0)
        if "accept" in heard:
            return Action(NONE)
        return Action(PHYSICAL, "offer: 480" if "look elsewhere" in heard else "offer: 510")

    values, reached = credit(lines, seller, (550.0, 450.0), (450.0, 550.0))
    question, thanks, threat, accepts = values.values()
    assert reached == pytest.approx(7.0) and threat > 0 and accepts > threat
    # Both only give the seller an occasion to offer: worth something where nothing else does, and alike.
    assert question == pytest.approx(thanks) and threat > abs(thanks)


class Tactful:
    """Scores REL: a request right behind a kindness hurts, unless it is explained; politeness alone does not count."""

    called = "tactful"

    def verdict(self, environment):
        heard = " | ".join(text for _, text in environment.utterances(environment.steps))
        asked = "sleep by myself" in heard
        hurt = asked and "not about you" not in heard
        scores = {"GOAL": 10.0 * asked, "REL": -4.0 if hurt else 2.0}
        return EpisodeScore(
            {name: {**dict.fromkeys(environment.scales(), 0.0), **scores} for name in environment.agents}
        )


def test_a_polite_request_that_hurts_is_worth_less_than_its_goal_and_the_explanation_is_what_heals():
    """E.3: the relationship enters the utility, so that courtesy alone earns nothing and tact does."""
    lines = (
        Action(SPEAK, "Thank you, you are so considerate."),
        Action(SPEAK, "May I sleep by myself tonight, because of my back?"),
        Action(SPEAK, "It is not about you; come and have breakfast in my bed."),
    )
    comforting = ScriptedAgent("comforting", lambda view: Action(SPEAK, "I could bring you more pillows."))
    by_goal, _ = credit(lines, comforting.rule, (0.0, 1.0), (1.0, 0.0), Tactful())
    by_both, _ = credit(lines, comforting.rule, (0.0, 1.0), (1.0, 0.0), Tactful(), {"GOAL": 0.5, "REL": 0.3})
    thanks, request, explains = by_both.values()
    assert list(by_goal.values()) == pytest.approx([0.0, 10.0, 0.0])
    assert thanks == pytest.approx(0.0) and explains == pytest.approx(0.9)
    # 5 for the goal, less half of what it costs the relationship where it is not explained.
    assert request == pytest.approx(5.0 - 0.9) and np.isfinite(request)
