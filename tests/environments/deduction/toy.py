"""The smallest game of hidden roles: a mole among three looks at a role in secret; then they talk and vote."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from random import Random
from typing import ClassVar, Literal

from apportion.environments.deduction.base_game import Deduction
from apportion.environments.deduction.events import VOTE, Aim, Deal, Stage, called
from apportion.environments.deduction.games import GameKind, roster_of
from apportion.environments.deduction.observation import PrivateInformation

ROLES = ("mole", "cat", "dog")
PEEK = "peek"


@dataclass(frozen=True)
class MoleRules:
    """Options: who wins a tie."""

    tie: Literal["mole", "others"] = "mole"


class Mole(Deduction):
    """A night, a discussion, a vote."""

    kind: ClassVar[str] = "mole"
    teams: ClassVar[Mapping[str, str]] = {"mole": "mole", "cat": "others", "dog": "others"}
    meanings: Mapping[str, str] = {PEEK: "see the role of one player", VOTE: "say who is the mole, or nobody"}

    def __init__(self, rules: MoleRules | None = None, deal: Deal | None = None) -> None:
        super().__init__(3, rules or MoleRules(), deal)

    def _dealt(self, draws: Random) -> Deal:
        return tuple(draws.sample(ROLES, 3))

    def _open(self) -> None:
        self.phase = 0
        self.votes: tuple[int, ...] = ()
        self.tell("begin", "Night falls.")

    def _copied(self) -> None:
        pass

    def _stage(self) -> Stage:
        return Stage(("night", "day", "end")[self.phase], 1 if self.phase < 2 else 0)

    def _acting(self) -> tuple[int, ...]:
        return ((self.deal.index("mole") + 1,), self._alive(), ())[self.phase]

    def _alive(self) -> tuple[int, ...]:
        return (1, 2, 3)

    def _choices(self, seat: int) -> Mapping[str, tuple[Aim, ...]]:
        others = tuple(one for one in self._alive() if one != seat)
        return {PEEK: others} if self.phase == 0 else {VOTE: (0, *others)}

    def _default(self, seat: int) -> tuple[str, Aim]:
        return (PEEK, 0) if self.phase == 0 else (VOTE, 0)

    def _speakers(self) -> tuple[int, ...]:
        return self._alive() if self.phase == 1 else ()

    def _public(self) -> bool:
        return self.phase > 0

    @staticmethod
    def words(kind: str, aim: Aim) -> str:
        if kind == PEEK:
            return f"looked at {called(aim)}" if aim else "looked at nobody"
        return f"voted for {called(aim)}" if aim else "abstained"

    def _do(self, acts: Mapping[int, tuple[str, Aim]]) -> None:
        if self.phase == 0:
            ((seat, (_, aim)),) = acts.items()
            if aim:
                self.tell("role", f"{called(aim)} is the {self.deal[aim - 1]}.", (aim, self.deal[aim - 1]), (seat,))
            self.phase = 1
            self.tell("day", "Day breaks.")
        else:
            self.votes = tuple(aim for _, aim in acts.values())
            self.phase = 2
            self.tell("end", f"{called(self.deal.index('mole') + 1)} was the mole.")

    def most_acts(self, seat: int) -> int:
        return 3

    def _won(self, seat: int) -> bool:
        mole = self.deal.index("mole") + 1
        found = self.votes.count(mole) >= (2 if self.rules.tie == "mole" else 1)
        return found == (seat != mole)

    def rules_in_words(self) -> str:
        return "One of three is the mole. none is looking at nobody, saying nothing, abstaining."

    def role_in_words(self, seat: int) -> str:
        return f"You are {called(seat)}, the {self.deal[seat - 1]}."

    @staticmethod
    def fits(facts: PrivateInformation) -> Sequence[Deal]:
        seen = {facts.seat: facts.role} | {
            event.data[0]: event.data[1] for event in facts.events if event.kind == "role"
        }
        return [deal for deal in permutations(ROLES) if all(deal[seat - 1] == role for seat, role in seen.items())]


MOLE = GAME = GameKind(Mole, MoleRules, Mole, roster_of("mole", {}))
"""The toy as those see it who play any game."""
SIMULATOR = GAME.simulator
