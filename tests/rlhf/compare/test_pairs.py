from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.corpus.corpus import Corpus
from apportion.corpus.schema import RATINGS, SESSIONS, UTTERANCES
from apportion.foundation.errors import InputError
from apportion.rlhf.compare.pairs import Pair, anonymize_pair, speakers
from apportion.rlhf.compare.responses import messages_of


def pair(context: str, left: str, right: str, session_id: str = "s") -> Pair:
    return Pair(session_id, 1, 0, context, "new", "old", left, right)


WORDS = st.lists(
    st.sampled_from(["Mary", "mary's", "MARY", "Alex", "Robin", "ann", "Annette", "at", "nine,"]), max_size=6
)


@given(context=WORDS, left=WORDS, right=WORDS)
def test_the_way_back_gives_what_was_said_and_equal_responses_stay_equal(context, left, right):
    said = pair(f"user: {' '.join(context)}", " ".join(left), " ".join(right))
    found = anonymize_pair(said, ["Mary Ann"], [])
    shown = found.pair
    assert not {"mary", "ann"} & {word.strip("',s").lower() for word in f"{shown.left_text} {shown.context}".split()}
    for text, was in ((shown.context, said.context), (shown.left_text, said.left_text)):
        assert found.renaming.back(text).lower() == was.lower()
    assert shown.same == said.same and (shown.left, shown.right, shown.place) == (said.left, said.right, said.place)
    assert anonymize_pair(said, ["Mary Ann"], []) == found


def test_without_anybody_to_replace_nothing_changes():
    said = pair("user: I am Mary", "yes", "no")
    assert anonymize_pair(said, [], []).pair == said
    assert anonymize_pair(said, ["user", "assistant"], []).pair == said
    assert "Mary" not in anonymize_pair(said, [], ["Mary"]).pair.context


def test_the_kind_of_what_was_known_stays_where_somebody_is_called_so():
    context = "known (scenario): Goal rules.\nknown (own goal): Beat Own.\nuser (Goal): Well, Own?\nuser (Own): Yes."
    shown = anonymize_pair(pair(context, "yes", "no"), ["Goal", "Own", "Mary"], []).pair.context
    heads = [(message.role, message.speaker) for message in messages_of(shown)]
    assert heads[:2] == [("known", "scenario"), ("known", "own goal")]
    assert not {"Goal", "Own"} & {word for _, speaker in heads[2:] for word in speaker.split()}
    assert "Beat Own" not in shown


def corpus(tmp_path, rater: str = "Ann") -> Corpus:
    rows = {
        SESSIONS: [{"session_id": "s", "source": "test", "language": "en"}],
        UTTERANCES: [{"session_id": "s", "turn": 0, "speaker": "Mary", "text": "Hello."}],
        RATINGS: [
            {"session_id": "s", "rater": rater, "target": "Mary", "name": "n", "score": 1.0, "low": 0.0, "high": 1.0,
             "higher_is_better": True}
        ],
    }  # fmt: skip
    return Corpus.of(
        tmp_path, {schema.name: pa.Table.from_pylist(of, schema=schema.arrow) for schema, of in rows.items()}
    )


def test_everybody_of_a_session_is_known_and_a_session_that_is_not_there_is_named(tmp_path):
    assert speakers(corpus(tmp_path), [pair("user: a", "b", "c")]) == {"s": ("Mary", "Ann")}
    assert speakers(corpus(tmp_path, "environment"), [pair("user: a", "b", "c")]) == {"s": ("Mary",)}
    with pytest.raises(InputError, match=r"it has no session 'other'\. Give the corpus from which"):
        speakers(corpus(tmp_path), [pair("user: a", "b", "c", "other")])
