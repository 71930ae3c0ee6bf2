from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

from apportion.corpus.session import Episode, Rating, Turn
from apportion.decompose.reactions import vader as module
from apportion.decompose.reactions.cues import CUES, cues, tones
from apportion.decompose.reactions.vader import Tone, tone
from apportion.decompose.session_methods.sentiment import judge
from apportion.decompose.settings import DecomposeSettings
from apportion.llm_client.session import LLMSession


def read(said: list[str], turn: str = "The train leaves at nine.", before: tuple[str, ...] = ()) -> dict[str, float]:
    return dict(zip(CUES, cues(said, turn, list(before), 0.25), strict=True))


def test_a_reply_s_words_its_length_and_what_it_repeats_are_cues() -> None:
    found = read(["Yes, that is great!", "Thank you"])
    assert found["yes"] == found["good"] == found["thanks"] == found["exclamation"] == 1
    assert found["no"] == found["not"] == found["question"] == found["silent"] == 0
    assert found["compound"] > 0.3
    found = read(["No, I don't want another train."], "Sorry, can I book the bus?")
    assert found["no"] == found["not"] == found["other"] == 1
    assert found["turn asks"] == found["turn regrets"] == 1
    found = read(["I want a train to Rome"], before=("a table please", "train to rome"))
    assert found["words before"] == pytest.approx(2 / 3)  # want, train, rome against train, rome
    assert found["words of the turn"] == pytest.approx(1 / 3)
    assert found["asked before"] == 0.25
    found = read([])
    assert found["silent"] == 1
    assert found["compound"] == found["length"] == 0


def test_in_another_language_no_english_word_is_a_cue() -> None:
    words = ["no, that is great, not bad, thank you, I hate the other one!"]
    english, other = (dict(zip(CUES, cues(words, "Sorry?", [], 0.5, of), strict=True)) for of in (True, False))
    differ = {name for name in CUES if english[name] != other[name]}
    assert differ == {*Tone._fields, "thanks", "no", "good", "not", "other", "turn regrets"}
    assert not any(other[name] for name in differ)


def test_tones_are_the_mean_over_utterances() -> None:
    one, other = tones(["great"]), tones(["terrible"])
    assert tones(["great", "", "terrible"]) == pytest.approx([(a + b) / 2 for a, b in zip(one, other, strict=True)])


VADER = SentimentIntensityAnalyzer()
WORDS = ("GREAT", "not", "bad", "very", "thanks!!", "ok?", ":)", "😀", "kind of", "but", "é")
PIECES = st.sampled_from([*WORDS, "\n", "\t", "  "])


@given(st.lists(PIECES | st.text(max_size=6), max_size=12))
def test_it_is_vader_s_own_reading_whatever_the_spaces(pieces: list[str]) -> None:
    text = " ".join(pieces)
    own = VADER.polarity_scores(text)
    assert tone(text) == Tone(*(own[name] for name in Tone._fields))


def test_what_the_cues_have_read_the_method_by_sentiment_reads_no_more() -> None:
    settings, reply = DecomposeSettings(), "Well, that was wonderful, of all the answers."
    turns = (Turn(0, "bot", "Booked."), Turn(1, "user", reply))
    episode = Episode("s", turns, Rating("user", "bot", "mood", 3.0, 1.0, 5.0))
    with patch.object(module, "_analyzer", wraps=module._analyzer) as analyzer:
        found = cues([reply], "Booked.", [], 0.0)
        (judged,) = judge(episode, None, settings, LLMSession(settings.llm))
    assert judged.value == found[0] == VADER.polarity_scores(reply)["compound"]
    assert analyzer.call_count == 1
