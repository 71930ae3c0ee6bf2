"""An environment as the other side: what the policy hears, what it is paid by, and how it ends."""

from functools import partial

import pytest

from apportion.environments.agents.agent import ScriptedAgent
from apportion.environments.collect_episodes import play
from apportion.environments.environment import Action, Observation
from apportion.environments.sotopia.game import Rules, Sotopia
from apportion.environments.sotopia.scripted_agents import Conceding
from apportion.environments.sotopia.sources.task_sets import chosen_space
from apportion.foundation.errors import UnitError
from apportion.reward_model.history_windows import window
from apportion.rlhf.policy.contexts import DialogueContext
from apportion.rlhf.sampling import environment_partner
from apportion.rlhf.sampling.environment_partner import BatchAgent, EnvironmentPartner, Start
from apportion.rlhf.sampling.multi_turn import sample_dialogues
from apportion.rlhf.sampling.partner import BatchPartner, Stage, answers
from apportion.rlhf.sampling.policy_agent import PolicyAgent
from apportion.rlhf.training.endings import StopReason, measured_endings
from tests.environments.games import Countdown, Matching
from tests.rlhf.sampling.test_policy_agent import ROOM
from tests.rlhf.toy import SMALL, small_policy

POLICY = small_policy()
SPEAKER = PolicyAgent("policy", POLICY, POLICY.model, ROOM)
CONCEDING = Conceding()
OFFERS = ("Hello.", "[physical action] offer: 108", "[physical action] offer: 96", "[physical action] accept", "Bye.")


def ten(episode, position):
    return window(episode, position, 10)[0]


def bicycle() -> Sotopia:
    (task,) = chosen_space(None, None).only(("used_bicycle",)).draw(pairs=1, seed=0)
    game = Sotopia(task, Rules(most_acts=10))
    game.reset("seed")
    return game


def staged(seat: int, others=CONCEDING, make=bicycle, dimension="GOAL"):
    """A partner with one start, begun, and what the policy is first asked."""
    start = Start("play", make, make().agents[seat])
    partner = EnvironmentPartner([start], [others], dimension, 1.0, ten)
    (context,) = partner.begin([DialogueContext("play", 0, (), (), "")], SPEAKER)
    return partner, context


def test_it_is_the_episode_that_the_agents_would_play():
    """The policy says what a script says; then all is as if two scripts had played."""
    reference = bicycle()
    play(reference, dict.fromkeys(reference.agents, Conceding()))
    for seat in (0, 1):
        partner, context = staged(seat)
        said = reference.utterances(reference.steps)
        mine = [text for name, text in said if name == reference.agents[seat]]
        theirs = [text for name, text in said if name != reference.agents[seat]]
        heard = [answers(partner, [(context, mine[: count + 1])])[0] for count in range(len(mine))]
        opening = [context.messages[-1].text] if seat else []
        told = [*opening, *(text for text in heard if text is not None)]
        # An act that ends the episode is answered by nobody.
        assert told == theirs[: len(told)] and len(theirs) - len(told) <= 1
        ending = partner.ending(context, mine)
        assert (
            ending.over
            and ending.score == ending.value == reference.outcome()[reference.agents[seat]]["GOAL"]
            and heard[-1] is None
        )


def test_what_is_paid_reads_the_dialogue_as_a_reward_model_of_the_corpus_does():
    partner, context = staged(1)
    assert context.history.splitlines()[-1].startswith("A: ") and "own goal: Buy the bicycle" in context.history
    partner.answer(context, OFFERS[:1])
    history = partner.history(context, OFFERS[:1]).splitlines()
    assert history[-2] == "B: Hello." and history[-1].startswith("A: [physical action] offer: ")
    assert "Sell the bicycle" not in "".join(history)


def test_equal_words_hear_the_same_and_a_group_differs_by_what_it_says():
    partner, context = staged(0)
    first = partner.answer_all([(context, ["Hi."]), (context, ["Hi."]), (context, [OFFERS[1]])])
    assert first[0] == first[1] and len(first) == 3
    # A step forgets what was played before it, and plays the same again.
    (again,) = partner.begin([context], SPEAKER)
    assert again == context and partner.answer(context, ["Hi."]) == first[0]


def test_what_is_no_act_is_silence_and_counted():
    partner, context = staged(0)
    assert partner.worded(context, (), "  Good \n day ") == ("Good day", True)
    assert partner.worded(context, (), "") == ("[none] did nothing", True)
    assert partner.worded(context, (), "x" * 30_000) == ("[none] did nothing", False)


def test_the_policy_has_every_seat_where_nobody_else_is_named():
    partner, context = staged(1, others=None)
    opened = context.messages[-1].text
    assert isinstance(SPEAKER, BatchAgent) and opened == staged(1, others=None)[1].messages[-1].text
    assert partner.answer(context, ["Hi."]) is not None
    assert isinstance(partner, Stage) and isinstance(partner, BatchPartner)


def test_whole_episodes_are_sampled_until_the_rules_or_the_room_end_them():
    policy = small_policy()
    start = Start("play", bicycle, bicycle().agents[1])
    partner = EnvironmentPartner([start], [Conceding()], "GOAL", 1.0, ten)
    settings = SMALL.model_copy(update={"algorithm": "grpo", "environment": "sotopia", "max_context_tokens": 3000})
    unopened = [DialogueContext("play", 0, (), (), "")] * 2
    rollout = sample_dialogues(policy, policy.model, unopened, partner, settings)
    assert all(ending.over for ending in rollout.endings) and [len(p) > 100 for p in rollout.prompts] == [True, True]
    turns = [rollout.turn_ends[:, 0].tolist().count(row) for row in (0, 1)]
    assert [ending.turns for ending in rollout.endings] == turns and len(rollout.texts) == sum(turns)
    greedy = [sample_dialogues(policy, policy.model, unopened[:1], partner, settings, greedy=True) for _ in range(2)]
    assert greedy[0].texts == greedy[1].texts
    room = len(rollout.prompts[0]) + 40
    cut = sample_dialogues(
        policy, policy.model, unopened, partner, settings.model_copy(update={"max_context_tokens": room})
    )
    assert not any(ending.over for ending in cut.endings)


def test_who_acts_at_once_with_the_policy_is_heard_after_it():
    copying = ScriptedAgent("copying", lambda view: Action("show", "heads"))
    partner, context = staged(1, copying, partial(Matching, ["ann", "bob"]), "same")
    assert [partner.answer(context, ["heads", "tails"][:n]) for n in (1, 2)] == ["heads", "heads"]
    assert partner.answer(context, ["heads", "tails", "heads"]) is None
    assert partner.ending(context, ["heads", "tails", "heads"]) == StopReason(2.0, True, 3, 0, 2.0, role="2")


def test_acts_that_nobody_hears_are_said_so():
    class Whispered(Countdown):
        def said(self, move):
            return None if move.agent == "bob" else super().said(move)

    taking = ScriptedAgent("taking", lambda view: Action("take", "1"))
    partner, context = staged(0, taking, partial(Whispered, ["ann", "bob"]), "points")
    assert partner.answer(context, ["1"]) == environment_partner.UNHEARD
    # A dimension that the rules do not know.
    assert staged(0, taking, partial(Countdown, ["ann", "bob"]), "style")[0].ending(context, ()).value is None


def test_a_seat_that_is_never_asked_and_rules_that_never_end_are_errors(monkeypatch):
    leaving = ScriptedAgent("leaving", lambda view: Action("leave"))
    with pytest.raises(UnitError, match=r"play: over before '.*' was asked; leave out that task or seat"):
        staged(1, leaving)
    monkeypatch.setattr(environment_partner, "MOST_STEPS", 0)
    with pytest.raises(UnitError, match=r"sotopia: '.*' is not asked in 0 steps"):
        staged(1)


def test_what_is_measured_of_endings_counts_what_is_not_known_nowhere():
    ends = [StopReason(4.0, True, 3, 1), StopReason(None, False, 1, 0), StopReason(1.0, True, 4, 1)]
    assert measured_endings(ends) == {"outcome": 2.5, "ended": 2 / 3, "unusable": 0.25}
    assert measured_endings(ends[1:2]) == {"ended": 0.0, "unusable": 0.0} and measured_endings([]) == {}


def test_views_tell_seats_and_not_names():
    view = Observation(bicycle(), bicycle().agents[1])
    assert view.seat == 1 and view.heard == () and {own for own, _, _ in view.known} == {False, True}
