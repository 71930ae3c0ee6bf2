"""Claims say in words what was lived through, and are read only where they are of that form."""

from __future__ import annotations

import pytest

from apportion.environments.deduction.onuw.claims import Card, all_accounts, claimed, sentence
from apportion.environments.deduction.onuw.rules import PLAYERS, ClaimedHistory


def test_every_account_is_read_as_it_is_said() -> None:
    for seat in range(PLAYERS):
        assert len({sentence(one) for one in all_accounts(seat)}) == len(all_accounts(seat)) == 64
        for one in all_accounts(seat):
            assert claimed(seat, f"Well. {sentence(one)} I think Player 2 has the Werewolf's card.") == one


@pytest.mark.parametrize(
    "words",
    [
        "",
        "I am not the Werewolf, trust me!",
        "Player 2 says: the Seer am I",
        "I am the Seer's friend.",
        "vote 3",
    ],
)
def test_other_words_claim_nothing(words: str) -> None:
    assert claimed(0, words) is None


def test_the_last_claim_counts() -> None:
    words = " ".join(map(sentence, (ClaimedHistory("villager"), ClaimedHistory("troublemaker", (1, 2)))))
    assert claimed(0, words) == ClaimedHistory("troublemaker", (1, 2))


@pytest.mark.parametrize(
    ("words", "role"),
    [
        ("I am the Seer, trust me!", "seer"),
        ("i'm a villager. Who are you?".capitalize(), "villager"),
        ("Well, I started as the robber and took something.", "robber"),
        ("I was dealt the Seer; I looked at Player 1's card: Seer.", "seer"),  # nobody sees a second Seer
        ("I was dealt the Robber; I took Player 1's card and am the Villager now.", "robber"),  # its own card
        ("I am the Seer. No, I was the Insomniac.", "insomniac"),
    ],
)
def test_of_free_words_the_card_is_read(words: str, role: str) -> None:
    assert claimed(0, words) == Card(role) != ClaimedHistory(role)
