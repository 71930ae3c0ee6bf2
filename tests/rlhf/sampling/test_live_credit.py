"""Credit for the turns of live episodes: what it sums to, that it is exact, and that its gradient is the outcome's."""

from itertools import permutations, product
from math import exp

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apportion.decompose.shapley.values import InsufficientBudgetError
from apportion.environments.actions import Action, AgentAction
from apportion.environments.agents.agent import ScriptedAgent
from apportion.environments.restored_episode import RestoredEpisode
from apportion.environments.rollout import Rollouts
from apportion.foundation.errors import InputError, UnitError
from apportion.rlhf.policy.contexts import DialogueContext
from apportion.rlhf.sampling.environment_partner import EnvironmentPartner, Start, _written
from apportion.rlhf.sampling.live_credit import CreditSettings, LiveCredit
from apportion.rlhf.settings import AlignSettings
from apportion.rlhf.training.endings import StopReason
from apportion.rlhf.training.reward import CreditReward, OutcomeReward, ScoreNorm, normalized_scores, turn_scores
from tests.environments.games import Countdown, take
from tests.rlhf.sampling.test_live_worlds import NAMES, ROLES, SPEAKER, aligned, begun, settings_of
from tests.rlhf.toy import SMALL, Scored
from tests.rlhf.trainers.test_grpo_rloo import Stop, stop_after

EXPECTED, SAVOIR = CreditSettings(rollouts=1), CreditSettings(by="savoir", rollouts=1, budget=4096)


def played(partner, start, context, by):
    """What the policy has said in an episode in which it does what ``by`` does."""
    replies = []
    while not (at := partner._kept[start.name, tuple(replies)]).game.over:
        act = by.act(at.view)
        said = at.game.said(AgentAction(start.agent, act))
        replies.append(partner.worded(context, replies, _written(act) if said is None else said)[0])
        partner.answer(context, replies)
    return replies


def of_start(partner, start):
    """What playing on from the start is worth, with nothing of the policy's."""
    credit, state = partner._credit, partner._kept[start.name, ()].game
    return credit._worth((start.name, "asked alone"), start.agent, state)


@pytest.mark.parametrize(
    ("world", "credit"),
    [*((name, EXPECTED) for name in NAMES), *((name, SAVOIR) for name in NAMES if name not in ROLES)],
)
@settings(max_examples=3, deadline=None)
@given(seed=st.integers(0, 1000))
def test_the_credits_of_an_episode_sum_to_its_outcome_less_what_its_start_is_worth(world, credit, seed) -> None:
    """Whoever plays: with the player's own acts, which are worth what was foretold, and with others."""
    size = {"most_acts": 8} if world not in ROLES else {"games": 1, "seats": (1,)}
    partner, starts, contexts, player = begun(world, seed, credit=credit, **size)
    start, context = starts[0], contexts[0]
    for by in (player, settings_of(world).AGENTS.scripted("random")):
        replies = played(partner, start, context, by)
        ending = partner.ending(context, replies)
        assert len(ending.credit) == ending.turns == len(replies)
        assert sum(ending.credit) == pytest.approx(ending.score - of_start(partner, start))


def test_what_is_no_play_costs_what_it_costs_the_outcome_and_what_was_asked_once_is_kept() -> None:
    partner, starts, contexts, _ = begun("sotopia", most=0.25, credit=EXPECTED)
    replies = []
    while not partner._kept[starts[0].name, tuple(replies)].game.over:
        replies.append(partner.worded(contexts[0], replies, '{"act": "dance"}')[0])
        partner.answer(contexts[0], replies)
    ending = partner.ending(contexts[0], replies, len(replies))
    assert ending.score == 0.0 and sum(ending.credit) == pytest.approx(-of_start(partner, starts[0]))
    known = dict(partner._credit._known)
    assert len(known) == len(replies) + 1
    assert partner.ending(contexts[0], replies, len(replies)) == ending and partner._credit._known == known
    partner.begin(contexts, SPEAKER)
    assert not partner._credit._known


def test_shapley_values_are_those_of_the_definition() -> None:
    """Over all orders of a bargain's turns: histories made and played on by hand."""
    partner, starts, contexts, player = begun("bargaining", most_acts=6, credit=SAVOIR, other="conceding")
    start, context = starts[0], contexts[0]
    random = settings_of("bargaining").AGENTS.scripted("random")
    replies = played(partner, start, context, random)
    found = partner.ending(context, replies)
    ended = partner._kept[start.name, tuple(replies)].game
    begun_anew = ended.clone()
    begun_anew.reset(ended.seed)
    restored = RestoredEpisode("x", begun_anew, tuple(ended.steps), dict.fromkeys(ended.agents, player))
    turns = restored.turns_of(start.agent)
    rollouts = Rollouts(restored, start.agent, turns, partner._credit._utility, rollouts=1, seed=start.name)
    everybody = range(len(turns))

    def worth(coalition):
        return found.score if len(coalition) == len(turns) else rollouts.played_on(frozenset(coalition))[0]

    orders = list(permutations(everybody))
    by_hand = [
        sum(worth({*order[: order.index(turn)], turn}) - worth(set(order[: order.index(turn)])) for order in orders)
        / len(orders)
        for turn in everybody
    ]
    assert 1 < len(turns) == len(found.credit) and found.credit == pytest.approx(by_hand)
    assert sum(abs(credit) for credit in found.credit) > 0


def test_what_nobody_hears_is_no_turn_of_its_own() -> None:
    """A selection follows from the talk, which has brought all of it."""
    partner, starts, contexts, _ = begun("negotiation", credit=SAVOIR)
    replies = played(partner, starts[0], contexts[0], settings_of("negotiation").AGENTS.scripted("greedy"))
    credit = partner.ending(contexts[0], replies).credit
    assert replies[-1].startswith("[select]") and credit[-1] == 0.0 != credit[0]


class Short(Countdown):
    """Five are left, always."""

    def _begin(self) -> None:
        super()._begin()
        self.pile = 5


ONE = ScriptedAgent("one", lambda view: take(1))
LOGITS = {5: 0.3, 4: -0.2, 3: 0.9, 2: 0.1, 1: -0.5}
"""Of taking 2 in place of 1, by what is left."""


def chance(pile: int, two: bool) -> float:
    """Of an act of a policy with these logits."""
    one = 1 / (1 + exp(LOGITS[pile]))
    return 1 - one if two else one


def episodes():
    """Every episode of such a policy against one who takes 1: (probability, piles, acts, outcome, credits)."""
    start = Start("x", lambda: Short(["ann", "bob"]), "ann")
    live = LiveCredit(EXPECTED, ONE, "points")
    partner = EnvironmentPartner([start], [ONE], "points", 1.0, lambda episode, position: "", credit=live)
    (context,) = partner.begin([SPEAKER_CONTEXT], SPEAKER)
    seen = set()
    for choices in product((False, True), repeat=3):
        replies, piles, likely = [], [], 1.0
        for two in choices:
            game = partner._kept["x", tuple(replies)].game
            if game.over:
                break
            piles.append(game.pile)
            likely *= chance(game.pile, two)
            text = "2" if two else "1"
            partner._acts["x", (*replies, text)] = Action("take", text)
            replies.append(text)
            partner.answer(context, replies)
        if tuple(replies) in seen:
            continue
        seen.add(tuple(replies))
        ending = partner.ending(context, replies)
        yield likely, piles, [reply == "2" for reply in replies], ending


SPEAKER_CONTEXT = DialogueContext("x", 0, (), (), "")


def gradient(weighed):
    """The expected gradient by logit, where turn t of an episode is weighed with ``weighed(ending)[t]``."""
    total = dict.fromkeys(LOGITS, 0.0)
    for likely, piles, acts, ending in episodes():
        for pile, two, weight in zip(piles, acts, weighed(ending), strict=True):
            total[pile] += likely * weight * (two - chance(pile, True))  # d log pi / d logit
    return total


def test_the_gradient_of_what_is_to_come_is_the_outcome_s() -> None:
    """In a game of which every episode is looked at: the credits to come differ from the outcome by a baseline."""
    assert sum(likely for likely, *_ in episodes()) == pytest.approx(1.0)
    outcome = gradient(lambda ending: [ending.score] * ending.turns)
    to_come = gradient(lambda ending: [sum(ending.credit[turn:]) for turn in range(ending.turns)])
    assert to_come == pytest.approx(outcome) and max(map(abs, outcome.values())) > 0.01


def test_the_gradient_stays_where_a_role_s_baseline_is_taken_off() -> None:
    """The baseline of the step before, whatever it is; by the very function that PPO and GRPO call."""
    chosen = SMALL.model_copy(update={"score_norm": False, "role_baseline": 0.5, "environment": "negotiation"})

    def less(ending):
        scores = [*[0.0] * (ending.turns - 1), ending.score]
        paid = normalized_scores(scores, ScoreNorm(roles={"1": 0.7}), chosen, (), (), [ending])
        return [sum(paid[turn:]) for turn in range(ending.turns)]

    outcome = gradient(lambda ending: [ending.score] * ending.turns)
    assert gradient(less) == pytest.approx(outcome)


def test_a_baseline_by_hand() -> None:
    """Wolves come to 1 and 0.6, a villager to 0.2: then 0.8 and 0.2 are usual, and half of what is new is learned."""
    chosen = SMALL.model_copy(update={"score_norm": False, "role_baseline": 0.5})
    norm = ScoreNorm()
    first = [StopReason(1.0, True, 2, 0, 1.0, "wolf"), StopReason(0.6, True, 1, 0, 0.6, "wolf")]
    first.append(StopReason(0.2, True, 1, 0, 0.2, "villager"))
    scores = [0.0, 1.0, 0.6, 0.2]
    assert normalized_scores(scores, norm, chosen, (), (), first) == scores
    assert norm.roles == pytest.approx({"wolf": 0.8, "villager": 0.2})
    again = normalized_scores([0.25, 0.75, 0.6, 0.2], norm, chosen, (), (), first)
    assert again == pytest.approx([0.25, 0.75 - 0.8, 0.6 - 0.8, 0.0])
    lost = normalized_scores([0.0, 0.0, 0.0, 1.0], norm, chosen, (), (), first)
    assert lost == pytest.approx([0.0, -0.8, -0.8, 0.8]) and norm.roles == pytest.approx({"wolf": 0.4, "villager": 0.6})
    assert ScoreNorm(*norm.moments).moments == norm.moments
    assert normalized_scores(scores, norm, SMALL.model_copy(update={"score_norm": False}), (), (), first) == scores


def test_credits_keep_their_sign_whatever_is_usual() -> None:
    """They are scaled and not moved, so that a turn that brought nothing is paid nothing."""
    chosen = SMALL.model_copy(update={"reward": "credit"})
    norm = ScoreNorm()
    assert normalized_scores([3.0, 0.0, 4.0, 0.0], norm, chosen) == pytest.approx([1.2, 0.0, 1.6, 0.0])
    assert normalized_scores([0.0], ScoreNorm(), chosen) == [0.0]


def test_an_outcome_is_weighed_beside_what_pays_the_turns() -> None:
    endings = [StopReason(4.0, True, 2, 0, 4.0, credit=(3.0, 1.0)), StopReason(1.0, True, 1, 0, 1.0, credit=(-1.0,))]
    given = ([], ["h"] * 3, ["a", "bb", "ccc"])
    assert turn_scores(CreditReward(weight=0.0), *given, endings) == [3.0, 1.0, -1.0]
    assert turn_scores(CreditReward(weight=0.5), *given, endings) == [3.0, 3.0, -0.5]
    by_length = Scored(lambda contexts, histories, replies: [float(len(reply)) for reply in replies])
    both = OutcomeReward(by_length, 2.0)
    assert turn_scores(both, *given, endings) == [1.0, 10.0, 5.0]
    assert turn_scores(by_length, *given) == [1.0, 2.0, 3.0]
    assert both.history(type("E", (), {"session_id": "s"}), 3) == "s 3"


def test_ppo_is_trained_by_credit_and_by_the_outcome_beside_it(tmp_path) -> None:
    align = {"reward": "credit", "reward_settings": {"outcome": 0.5}, "role_baseline": 0.5}
    last = {row["metric"]: row["value"] for row in aligned(tmp_path, "bargaining", align=align) if row["step"] == 2}
    assert {"reward", "ended", "unusable", "kl"} <= last.keys()


def test_a_stopped_training_by_shapley_values_and_baselines_goes_on_to_the_same(tmp_path) -> None:
    """What roles usually come to is in the checkpoint: GRPO's scores count in a unit that rests on it."""
    align = {"reward": "credit", "reward_settings": {"by": "savoir", "rollouts": 1}, "role_baseline": 0.5}
    whole = aligned(tmp_path / "a", "negotiation", "grpo", tmp_path / "a" / "c", align=align)
    with pytest.raises(Stop):
        aligned(tmp_path / "b", "negotiation", "grpo", tmp_path / "b" / "c", stop_after(1), align)
    assert aligned(tmp_path / "b", "negotiation", "grpo", tmp_path / "b" / "c", align=align) == whole
    name = "out/adapter_model.safetensors"
    assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"environment": None}, "reward = 'credit' is what the rules of an environment say; name an environment"),
        ({}, "'self' is none: set reward_settings.player to one of random, greedy, conceding, fair, tit-for-tat, or"),
        ({"environment_settings": {"other": "fair,greedy"}}, "'fair,greedy' is none: set reward_settings.player"),
        ({"environment_settings": {"other": "base@model"}}, "'base@model' is none: set"),
        ({"reward_settings": {"player": "smollm2"}}, "'smollm2' is none: set reward_settings.player"),
        ({"reward_settings": {"player": "learned"}}, "'learned' is none: set reward_settings.player"),
        (
            {"reward_settings": {"by": "savoir", "player": "fair"}, "environment_settings": {"most_acts": 400}},
            "budget = 200 does not tell 200 turns apart, which takes 402",
        ),
        ({"reward_settings": {"player": "learned@x"}}, "'credit': player = 'learned@x': String should match"),
        (
            {"environment": "avalon", "reward_settings": {"by": "savoir"}},
            "roles are hidden take 'expected-utility'",
        ),
        ({"reward_settings": {"budget": 40}}, "reward_settings.budget is for by = 'savoir'"),
        (
            {"reward_settings": {"player": "fair", "by": "savoir", "budget": 21}},
            r"budget = 21 does not tell 10 turns apart, which takes 22 histories; raise it, or lower",
        ),
        ({"reward_settings": {"player": "fair", "rollouts": 0}}, "rollouts = 0"),
        (
            {"environment": None, "reward": "reward_model", "reward_settings": {"outcome": 1.0}},
            "reward_settings.outcome weighs what an environment's rules say; name an environment",
        ),
        (
            {"environment": None, "reward": "reward_model", "role_baseline": 0.9},
            "role_baseline is of roles in an environment; name one, or take it out",
        ),
        ({"role_baseline": 1.0}, "role_baseline"),
    ],
)
def test_what_cannot_be_credited_is_refused_with_what_can(changes, problem) -> None:
    with pytest.raises(ValueError, match=problem):
        AlignSettings.model_validate({"environment": "negotiation", "reward": "credit", **changes})


def test_what_is_asked_is_in_the_key() -> None:
    plain = {"environment": "negotiation", "environment_settings": {"other": "fair"}}
    by_model = AlignSettings.model_validate({**plain, "reward_settings": {"outcome": 2.0}}).chosen
    assert by_model["reward"]["settings"] == {"outcome": 2.0}
    chosen = AlignSettings.model_validate({**plain, "reward": "credit", "role_baseline": 0.95}).chosen
    assert chosen["reward"]["name"] == "credit" and chosen["role_baseline"] == 0.95
    assert "role_baseline" not in AlignSettings.model_validate({**plain, "reward": "credit"}).chosen


def test_a_package_s_environment_is_not_played_on() -> None:
    with pytest.raises(InputError, match="plays on in environments of ours; take reward = 'outcome'"):
        EXPECTED.player_in(None)


def test_what_the_rules_do_not_know_and_what_the_budget_does_not_tell_are_errors(monkeypatch) -> None:
    game = Short(["ann", "bob"])
    with pytest.raises(UnitError, match="the rules of countdown do not say style of an episode that is played on"):
        LiveCredit(EXPECTED, ONE, "style")("x", "ann", [game, game], ["1"], 0.0)

    def unlucky(*given, **others):
        raise InsufficientBudgetError("two turns were always together.")

    monkeypatch.setattr("apportion.decompose.shapley.values.shapley_values", unlucky)
    game.do(take(2))
    with pytest.raises(UnitError, match=r"x: two turns were always together. Raise align.reward_settings.budget"):
        LiveCredit(SAVOIR, ONE, "points")("x", "ann", [game, game], ["2"], 0.0)
