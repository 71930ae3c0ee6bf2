import pytest

from apportion.decompose.reactions.cues import CUES, cues, tones


def read(said: list[str], turn: str = "The train leaves at nine.", before: tuple[str, ...] = ()) -> dict[str, float]:
    return dict(zip(CUES, cues(said, turn, list(before), 0.25), strict=True))


def test_a_pleased_reply() -> None:
    found = read(["Yes, that is great!", "Thank you"])
    assert found["yes"] == found["good"] == found["thanks"] == found["exclamation"] == 1
    assert found["no"] == found["not"] == found["question"] == found["silent"] == 0
    assert found["compound"] > 0.3


def test_a_refusal_of_an_apology() -> None:
    found = read(["No, I don't want another train."], "Sorry, can I book the bus?")
    assert found["no"] == found["not"] == found["other"] == 1
    assert found["turn asks"] == found["turn regrets"] == 1


def test_repetition_is_by_shared_words_that_say_something() -> None:
    found = read(["I want a train to Rome"], before=("a table please", "train to rome"))
    assert found["words before"] == pytest.approx(2 / 3)  # want, train, rome against train, rome
    assert found["words of the turn"] == pytest.approx(1 / 3)
    assert found["asked before"] == 0.25


def test_no_reply_is_silence_and_no_tone() -> None:
    found = read([])
    assert found["silent"] == 1
    assert found["compound"] == found["length"] == 0


def test_tones_are_the_mean_over_utterances() -> None:
    one, other = tones(["great"]), tones(["terrible"])
    assert tones(["great", "", "terrible"]) == pytest.approx([(a + b) / 2 for a, b in zip(one, other, strict=True)])


def test_any_script_can_be_read() -> None:
    assert all(isinstance(value, float) for value in cues(["是的,谢谢"], "Привет", ["да"], 0.0))
