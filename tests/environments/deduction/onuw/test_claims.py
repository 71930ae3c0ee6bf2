"""Claims say in words what was lived through, and are read only where they are of that form."""

from __future__ import annotations

import pytest

from environments.deduction.onuw.claims import all_accounts, claimed, sentence
from environments.deduction.onuw.deals import Account
from environments.deduction.onuw.rules import PLAYERS


def test_every_account_is_read_as_it_is_said() -> None:
    for seat in range(PLAYERS):
        assert len({sentence(one) for one in all_accounts(seat)}) == len(all_accounts(seat)) == 64
        for one in all_accounts(seat):
            assert claimed(seat, f"Well. {sentence(one)} I think Player 2 has the Werewolf's card.") == one


@pytest.mark.parametrize(
    "words",
    [
        "",
        "I am the Seer, trust me!",
        "I was dealt the Seer; I looked at Player 1's card: Seer.",  # nobody sees a second Seer
        "I was dealt the Robber; I took Player 1's card and am the Villager now.",  # its own card
        "I was dealt the Werewolf; and so on",
        '{"claim": "I was dealt the Villager"}',
    ],
)
def test_other_words_claim_nothing(words: str) -> None:
    assert claimed(0, words) is None


def test_the_last_claim_counts() -> None:
    words = " ".join(map(sentence, (Account("villager"), Account("troublemaker", (1, 2)))))
    assert claimed(0, words) == Account("troublemaker", (1, 2))
