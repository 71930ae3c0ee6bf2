from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.corpus.importers.dealornodeal import read_rows
from apportion.corpus.importers.dealornodeal.rows import row_of
from apportion.environments.negotiation.act_parser import UNKNOWN, Parsed, acts_of, parse, unread
from apportion.environments.negotiation.action_encoding import SPLITS, act_of, rest, split_code, splits_of
from apportion.environments.negotiation.contexts import Context, pools
from apportion.environments.negotiation.realization import sentence, wordings
from apportion.environments.negotiation.rules import legal_acts
from tests.environments.negotiation.strategies import CONTEXTS
from tests.shared import shared


@pytest.mark.parametrize("counts", pools())
def test_every_wording_of_every_act_is_read_back_as_that_act(counts: tuple[int, int, int]) -> None:
    for act in legal_acts(counts)[2]:
        words = [sentence(act, counts, wording) for wording in range(wordings(act))]
        assert len(set(words)) == len(words) > 2
        kind, split = act_of(act)
        assert not any(map(unread, words))
        assert {parse(one, counts) for one in words} == {Parsed(kind, None if split is None else act % SPLITS)}


@pytest.mark.parametrize(
    ("text", "kind", "split"),
    [
        ("I would like the book and one hat", "propose", (1, 1, 0)),
        ("you can have all the hats if I can have the book and the ball", "propose", (1, 0, 1)),
        ("ball and a book for me , the rest to you", "propose", (1, 0, 1)),
        ("you take 1 hat and i'll take everything else", "propose", (1, 2, 1)),
        ("1 of each?", "propose", (1, 1, 1)),
        ("take the hats and the ball", "propose", (1, 0, 0)),
        ("i don't need the hats, just the basketball", "propose", (0, 0, 1)),
        ("how about just the ball and i take the rest ?", "propose", (1, 3, 0)),
        ("the books are worth 5 to me", UNKNOWN, None),
        ("sounds good to me !", "agree", None),
        ("no way", "disagree", None),
        ("i can't do that .", "disagree", None),
        ("hello, how are you?", UNKNOWN, None),
        ("", UNKNOWN, None),
        ("<selection>", "end", None),
    ],
)
def test_what_people_write_is_read(text: str, kind: str, split: tuple[int, int, int] | None) -> None:
    read = parse(text, (1, 3, 1))
    assert unread(text) is None
    assert read.kind == kind
    assert (None if read.split is None else act_of(read.split)[1]) == split


def test_what_stands_helps_to_read() -> None:
    counts, theirs, mine = (1, 3, 1), 25 + 5, 10 + 1  # The other keeps (1, 1, 0), which leaves (0, 2, 1).
    assert parse("okay, 2 hats and the ball for me, deal", counts, standing=theirs) == Parsed("agree")
    assert parse("okay, you get the book and 1 hat", counts, standing=theirs) == Parsed("agree")
    assert parse("I take the rest.", counts, standing=theirs) == Parsed("agree")
    assert parse("I'd need one more hat too", counts, standing=theirs) == Parsed("propose", mine + 5)
    assert parse("I insist.", counts, own=mine) == Parsed("insist", mine)
    assert parse("I insist.", counts) == Parsed(UNKNOWN)
    assert parse("I'd like 2 hats and the ball", counts, own=mine) == Parsed("insist", mine)


@given(st.text(max_size=200) | st.text("ihatsbookyu 0123456789.,all notherest", max_size=200), CONTEXTS)
def test_whatever_is_said_is_read_as_something_that_the_pool_allows(text: str, context: Context) -> None:
    for standing in (None, splits_of(context.counts)[-1]):
        kind, split = parse(text, context.counts, standing, standing)
        assert (split is not None) == (kind in ("propose", "insist"))
        assert split is None or split in splits_of(context.counts)


def test_a_number_without_end_is_a_number() -> None:
    assert parse(f"I want {chr(57) * 5000} hats", (1, 3, 1)) == Parsed("propose", 15)


@pytest.mark.parametrize("text", ["I agree to everything.", "yes to everything", "I'm fine with everything you said"])
def test_who_agrees_to_everything_asks_for_nothing(text):
    assert parse(text, (1, 3, 1), standing=30) == Parsed("agree")
    assert parse("I want everything", (1, 3, 1), standing=30) == Parsed("propose", 41)


TALK = (
    "1 0 4 2 1 2 YOU: i would like 4 hats <eos> THEM: no , i need 2 hats and the ball <eos> YOU: i insist <eos> "
    "THEM: hm <eos> YOU: <selection> item0=0 item1=4 item2=0 <eos> reward=8 agree 1 4 4 1 1 2"
)
SHARES = {"propose": 48.6, "selection": 16.7, "agree": 15.5, "unknown": 7.7, "disagree": 7.0, "insist": 4.5}
"""In percent of the training rows, as others have read them."""


def proposed_to_you(row):
    """What "you" would have by the last proposal, as the number of a split; None where nothing is proposed."""
    proposals = [(mine, act.split) for mine, act in acts_of(row) if act.split is not None]
    return None if not proposals else proposals[-1][1] if proposals[-1][0] else rest(row.counts, proposals[-1][1])


def shares(rows):
    """By kind of act, its share of all that is done in rows; the selection of each counts as one."""
    counts = Counter(heard.act.kind for row in rows for heard in acts_of(row)) | {"selection": len(rows)}
    return {kind: many / sum(counts.values()) for kind, many in counts.items()}


def as_selected(rows):
    """In how many rows with a deal the last proposal is what was selected, and how many such rows there are."""
    agreed = [(row, split_code(row.selected)) for row in rows if row.end == "agreed" and row.selected is not None]
    return sum(proposed_to_you(row) == selected for row, selected in agreed), len(agreed)


def test_a_row_as_acts_with_what_they_refer_to():
    row = row_of(TALK, "here")
    hats, others = split_code((0, 4, 0)), split_code((0, 2, 1))
    assert [(mine, *act) for mine, act in acts_of(row)] == [
        (True, "propose", hats),
        (False, "propose", others),
        (True, "insist", hats),
        (False, "unknown", None),
    ]
    assert proposed_to_you(row) == hats and as_selected([row]) == (1, 1)
    assert shares([row]) == {"propose": 0.4, "insist": 0.2, "unknown": 0.2, "selection": 0.2}


@pytest.fixture(scope="module")
def parts():
    return read_rows(shared("data/dealornodeal"))[0]


def test_in_85_of_100_deals_of_the_test_rows_the_last_proposal_is_what_was_selected(parts):
    right, agreed = as_selected(parts["test"])
    assert agreed == 804 and right / agreed >= 0.85


def test_the_shares_of_acts_are_within_two_points_of_what_others_have_read(parts):
    found = shares(parts["train"][::2])
    assert {kind: 100 * share for kind, share in found.items()} == pytest.approx(SHARES, abs=2)
