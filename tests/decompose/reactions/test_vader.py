"""The tone of a text: VADER's own numbers, whatever the spaces between words, and read once."""

from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st
from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

from apportion.corpus.session import Episode, Rating, Turn
from apportion.decompose.reactions import vader as module
from apportion.decompose.reactions.cues import cues
from apportion.decompose.reactions.vader import Tone, tone
from apportion.decompose.session_methods.sentiment import judge
from apportion.decompose.settings import DecomposeSettings
from apportion.llm_client.session import LLMSession

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
