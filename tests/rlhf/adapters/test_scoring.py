"""Who pays the turns of a conversation, and a conversation that is paid turn by turn."""

import json
from pathlib import Path

import pytest

from apportion.foundation.errors import InputError
from apportion.reward_model.model import RewardModel
from apportion.rlhf.adapters.dialogue import Dialogue
from apportion.rlhf.adapters.openrlhf import reward_function
from apportion.rlhf.adapters.scoring import RecordedRewards, scorer
from tests.reward_model.test_model import random_head
from tests.reward_model.tiny import save_tiny, small
from tests.rlhf.adapters.recorded import HEARD, PROMPT, ROLLOUTS, rows, said, write


def test_recorded_turns_are_paid_what_the_record_says(tmp_path: Path) -> None:
    judge = scorer(write(tmp_path))
    system = [{"role": "system", "content": "Be brief."}]
    found = judge.turns([PROMPT, [*system, *PROMPT]], [said(*texts) for texts in ROLLOUTS])
    assert [of.advantage for of in found] == list(ROLLOUTS.values())
    assert [of.of_message for of in found] == [(0, 1), (0, 1)]
    assert judge.turns(["train ?"], ["no"])[0].advantage == (-1.0,)


def test_the_same_words_twice_are_paid_their_mean() -> None:
    again = {**rows()[2], "turn_rewards": [2.0, 0.0]}
    assert RecordedRewards([*rows(), again]).turns([PROMPT], [said("no")])[0].advantage == (0.5,)


def test_what_was_not_recorded_is_told() -> None:
    with pytest.raises(InputError, match=r"turn 1 of a completion, 'bad': the record .* those 3 messages.*its folder"):
        RecordedRewards(rows()).turns([PROMPT], [said("no", "bad")])


@pytest.mark.parametrize("missing", ["prompt", "answers", "turn_rewards"])
def test_a_row_of_something_else_is_told(missing: str) -> None:
    with pytest.raises(InputError, match=f"row 1: no {missing}; `apportion export --for` writes"):
        RecordedRewards([{**rows()[0], missing: None}])
    assert RecordedRewards([{**rows()[0], "prompt": []}]).turns([[]], ["yes good"])[0].advantage == (1.0,)


def test_a_conversation_is_paid_turn_by_turn_as_all_of_it_at_once(tmp_path: Path) -> None:
    model = random_head(small(save_tiny(tmp_path / "bert")))
    model.save_pretrained(tmp_path / "model")
    judge = scorer(tmp_path / "model")
    talk = Dialogue(judge, PROMPT, [HEARD, HEARD])
    heard = [talk.say(text)[1] for text in ("yes good", "no bad .", "at nine .")]
    whole = judge.turns([PROMPT], [talk.messages[1:]])[0].advantage
    assert heard == [HEARD, HEARD, None] and len(talk.messages) == 6
    assert talk.rewards == pytest.approx(whole, rel=1e-5) and len(set(talk.rewards)) == 3
    assert whole == pytest.approx(RewardModel.from_pretrained(tmp_path / "model").score(talk.messages), rel=1e-5)


def test_a_conversation_ends_with_its_turns() -> None:
    talk = Dialogue(RecordedRewards(rows()), PROMPT, [HEARD], most_turns=1)
    assert talk.say("no") == (-1.0, None) and PROMPT == [{"role": "user", "content": "train ?"}]


def test_silence_is_paid_nothing_and_what_a_model_thinks_first_is_not_said(tmp_path: Path) -> None:
    model = random_head(small(save_tiny(tmp_path / "bert")))
    model.save_pretrained(tmp_path / "model")
    silent, spoken, thought = (Dialogue(scorer(tmp_path / "model"), PROMPT) for _ in range(3))
    assert [silent.say(text)[0] for text in ("", "  ", "<think>hotel")] == [0, 0, 0]
    assert spoken.say("yes good") == thought.say("<think>bad no</think>\nyes good") and spoken.rewards[0] != 0
    reward_func = reward_function(tmp_path / "model")
    label = json.dumps({"prompt": PROMPT})
    paid = reward_func([f"x{said}" for said in ("", "<think>no", "yes good")], ["x"] * 3, [label] * 3)["rewards"]
    assert paid.tolist() == pytest.approx([0.0, 0.0, spoken.rewards[0]])
