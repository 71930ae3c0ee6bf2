import math
import random

import pytest

from apportion.foundation.errors import UnitError
from apportion.rlhf.policy_settings import PenaltySettings
from apportion.rlhf.sampling.partner import RecordedPartner
from apportion.rlhf.trainers.group_advantages import turn_advantages
from apportion.rlhf.training.job import Run
from apportion.rlhf.training.metrics import Metrics
from apportion.rlhf.training.penalties import Penalties
from apportion.rlhf.training.reward import ScoreNorm, normalized_scores
from apportion.rlhf.training_data import TrainingData
from tests.rlhf.toy import SMALL, chats, contexts, episode, no_history, small_policy, train

END = 9
# The first two answer different contexts alike; the third is long, the fourth has no end, the fifth says nothing.
SAID = [[1, 2, 3, END], [1, 2, 4, END], [5, 6, 7, 8, 5, 7, 8, END], [2, 1], [END]]


@pytest.mark.parametrize(
    ("values", "lost"),
    [
        ({"sameness": 3.0}, [1, 1, 0, 0, 0]),
        ({"length": 2.0}, [0, 0, 1, 1 / 3 * 2, 2 / 3 * 2]),
        ({"missing_end": 0.5}, [0, 0, 0, 0.5, 0]),
        ({"sameness": 3.0, "length": 2.0, "missing_end": 0.5}, [1, 1, 1, 0.5 + 2 / 3, 4 / 3]),
    ],
)
def test_each_penalty_has_its_price_and_they_add_up(values, lost):
    penalties = Penalties(PenaltySettings(**values), (END,), (3, 4))
    assert penalties(SAID, [0, 1, 2, 3, 4]) == pytest.approx(lost)
    # Replies to one context may be as alike as they like; nothing said has no end.
    assert penalties(SAID[:2], [7, 7]) == [0.0, 0.0] and penalties([[]], [0])[0] >= values.get("missing_end", 0)


@pytest.mark.parametrize(
    ("changes", "paid"),
    [
        ({}, [-1 - 0.5, 1 - 2]),
        ({"score_norm": False}, [2 - 0.5 * 2, 6 - 2 * 2]),
        ({"reward_clip": 0.5}, [-0.5 - 0.5, 0.5 - 2]),
    ],
)
def test_a_penalty_is_in_deviations_of_the_scores_and_no_clip_hides_it(changes, paid):
    assert normalized_scores([2.0, 6.0], ScoreNorm(), SMALL.model_copy(update=changes), [0.5, 2.0]) == paid


def test_the_usual_lengths_are_those_of_what_the_targets_said():
    policy, settings = small_policy(), SMALL.model_copy(update={"penalties": PenaltySettings(length=1.0)})
    said = ["no"] * 2 + ["at nine"] * 36 + ["with pleasure on track four"] * 2
    lines = [line for text in said for line in (("ann", "and?"), ("bot", text))]
    found = Penalties.of(settings, policy, [episode("a", lines)])
    middle = len(policy.tokenizer("at nine", add_special_tokens=False)["input_ids"]) + 1
    assert found is not None and found.usual == (middle, middle) and found.ends == tuple(policy.eos_ids)
    wider = Penalties.of(settings, policy, [episode("a", lines[:6])])
    assert wider is not None and wider.usual[0] < wider.usual[1] == middle
    with pytest.raises(UnitError, match=r"penalties.length: no target has said anything outside .* set it to 0"):
        Penalties.of(settings, policy, [])
    assert Penalties.of(SMALL, policy, []) is None


@pytest.mark.parametrize(
    ("algorithm", "turns"), [("ppo", 1), ("ppo", 2), ("grpo", 1), ("grpo", 2), ("rloo", 1), ("raft", 1), ("dpo", 1)]
)
def test_every_trainer_that_samples_takes_off_what_its_own_replies_lose(monkeypatch, algorithm, turns):
    policy, measured, replied, taken = small_policy(), Metrics(), [], []
    asked = contexts(policy)

    def reward(contexts, histories, replies):
        replied.extend(zip((context.session_id for context in contexts), replies, strict=True))
        return [float(len(reply)) for reply in replies]

    def losses(self, said, places):
        texts = [policy.tokenizer.decode(tokens, skip_special_tokens=True).strip() for tokens in said]
        taken.extend(zip((asked[place].session_id for place in places), texts, strict=True))
        return [float(len(text)) for text in texts]

    monkeypatch.setattr(Penalties, "__call__", losses)
    settings = SMALL.model_copy(
        update={
            "algorithm": algorithm,
            "num_generations": 2,
            "steps": 1,
            "mini_batch_size": 4,
            "beta": 0.0,
            "score_norm": False,
            "penalties": PenaltySettings(missing_end=1.0),
            "max_turns": turns,
            "max_context_tokens": 64 if turns == 1 else 90,
        }
    )
    partner = RecordedPartner(chats(4), no_history) if turns > 1 else None
    train(TrainingData(policy, asked, reward, partner, chats(4)), Run(settings, 0, measured))
    assert taken == replied and (len(taken) > 4) == (turns > 1)
    found = measured.at(1)
    assert found["penalty"] == found["reward"] == pytest.approx(sum(len(text) for _, text in taken) / len(taken))


@pytest.mark.parametrize("sameness", [0.0, 3.0])
def test_a_reply_that_is_paid_most_everywhere_is_given_everywhere_unless_sameness_costs(sameness):
    """Four contexts, in each the choice of one reply for all, which pays 1, and of an own one, which pays 0.6."""
    draw, norm, odds = random.Random(0), ScoreNorm(), [0.0] * 4
    penalties = Penalties(PenaltySettings(sameness=sameness), (END,))
    settings = SMALL.model_copy(update={"penalties": penalties.settings})

    def for_all(place):
        return 1 / (1 + math.exp(-odds[place]))

    for _ in range(100):
        asked = [place for place in range(4) for _ in range(8)]
        chosen = [draw.random() < for_all(place) for place in asked]
        said = [[1, 2, END] if one else [10 + place, 20 + place, END] for one, place in zip(chosen, asked, strict=True)]
        lost = penalties(said, asked) if sameness else []
        paid = normalized_scores([1.0 if one else 0.6 for one in chosen], norm, settings, lost)
        advantages = turn_advantages([[score] for score in paid], 8, scaled=False)
        chances = [for_all(place) for place in range(4)]
        for (advantage,), one, place in zip(advantages, chosen, asked, strict=True):
            odds[place] += 0.05 * advantage * (one - chances[place])
    given = [for_all(place) for place in range(4)]
    assert all(chance < 0.3 if sameness else chance > 0.9 for chance in given), given


def test_what_is_lost_has_its_price_where_the_end_alone_is_paid():
    settings = SMALL.model_copy(update={"score_norm": False, "reward_clip": None})
    whole = normalized_scores([5.0, 1.0], ScoreNorm(), settings, [1.0, 1.0])
    ends = [False, False, True, False, True]
    assert whole == [3.0, -1.0]
    assert normalized_scores([0.0, 0.0, 5.0, 0.0, 1.0], ScoreNorm(), settings, [1.0] * 5, ends) == [-2, -2, 3, -2, -1]
