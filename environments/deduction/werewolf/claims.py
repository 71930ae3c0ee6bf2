"""What players say of roles: sentences that scripts say, and what a script understands of any speech.

Scripts read speeches as people do, to decide what they do; the rules read none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from apportion.environments.deduction.events import SPEAK, VOTE, called
from apportion.environments.deduction.observation import PrivateInformation

_SEER = re.compile(r"\bI(?:'m| am) the seer\b", re.IGNORECASE)
_RESULT = re.compile(r"\bPlayer (\d{1,2}) is (not a|no|a) werewolf\b", re.IGNORECASE)
_SUSPECT = re.compile(r"\b(?:I suspect|I vote for|vote out) Player (\d{1,2})\b", re.IGNORECASE)


@dataclass(frozen=True)
class Claim:
    """What a speech says: whether its speaker is the seer, who is a werewolf and who is none, whom it suspects.

    >>> claim_in("I am the seer. Player 5 is a werewolf. I suspect Player 5.")
    Claim(seer=True, results=((5, True),), suspects=(5,))
    """

    seer: bool = False
    results: tuple[tuple[int, bool], ...] = ()
    suspects: tuple[int, ...] = ()

    def sentence(self) -> str:
        """The claim in words, which `claim_in` reads again."""
        said = ["I am the seer."] if self.seer else []
        said += [f"{called(seat)} is {'a' if is_one else 'no'} werewolf." for seat, is_one in self.results]
        said += [f"I suspect {called(seat)}." for seat in self.suspects]
        return " ".join(said)


@lru_cache(maxsize=4096)
def claim_in(text: str) -> Claim:
    """What a speech says of roles, as far as its sentences are of the forms that scripts use."""
    results = {int(seat): how.casefold() == "a" for seat, how in _RESULT.findall(text)}
    suspects = dict.fromkeys(int(seat) for seat in _SUSPECT.findall(text))
    return Claim(_SEER.search(text) is not None, tuple(results.items()), tuple(suspects))


@dataclass(frozen=True)
class Talk:
    """What was claimed so far.

    ``seers``: By the seat of each who has claimed to be the seer, in order, whom they have called a werewolf or none.
    ``suspected``: By seat, who has said that they suspect it, or has voted for it, each as often.
    """

    seers: Mapping[int, Mapping[int, bool]] = field(default_factory=dict)
    suspected: Mapping[int, tuple[int, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, facts: PrivateInformation) -> Talk:
        """What a player has heard."""
        seers: dict[int, dict[int, bool]] = {}
        suspected: dict[int, tuple[int, ...]] = {}
        for event in facts.events:
            if event.kind == VOTE and event.data:
                suspected[event.data] = (*suspected.get(event.data, ()), event.seat)
            if event.kind != SPEAK:
                continue
            claim = claim_in(event.text)
            if claim.seer:
                seers.setdefault(event.seat, {}).update(claim.results)
            for seat in claim.suspects:
                suspected[seat] = (*suspected.get(seat, ()), event.seat)
        return cls(seers, suspected)

    def named(self, seats: Iterable[int]) -> list[int]:
        """Who of those that claim to be the seer have called one of ``seats`` a werewolf."""
        named = set(seats)
        return [seer for seer, results in self.seers.items() if any(results.get(seat) for seat in named)]
