from collections import Counter

import pytest

from apportion.corpus.importers.dealornodeal import read_rows
from apportion.corpus.importers.dealornodeal.rows import row_of
from apportion.environments.negotiation.action_encoding import rest, split_code
from apportion.environments.negotiation.dialogue_acts import acts_of
from tests.shared import shared

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
    found = shares(parts["train"][::8])
    assert {kind: 100 * share for kind, share in found.items()} == pytest.approx(SHARES, abs=2)
