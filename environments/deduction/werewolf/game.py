"""Werewolf as an environment (Stackelberg Speaker, appendix A.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import ClassVar

from apportion.environments.deduction.base_game import Deduction
from apportion.environments.deduction.events import Aim, Deal, Stage, called
from apportion.environments.deduction.games import GameKind, roster_of
from apportion.environments.deduction.observation import PrivateInformation
from apportion.environments.deduction.werewolf.cast import (
    GUARDIAN,
    HUNTER,
    SEER,
    TEAMS,
    VILLAGE,
    WEREWOLF,
    check_roles,
)
from apportion.environments.deduction.werewolf.role_assignments import possible_deals
from apportion.environments.deduction.werewolf.rules import (
    CHECK,
    CHECKED,
    FELL,
    GUARD,
    KILL,
    KILLED,
    NOBODY,
    OUT,
    PACK,
    PROPOSE,
    ROLES,
    SHOOT,
    VOTE,
    Options,
    Result,
    Table,
)
from apportion.foundation.errors import InputError

_DONE = {
    PROPOSE: "proposed to kill",
    KILL: "chose to kill",
    CHECK: "looked at",
    GUARD: "protected",
    VOTE: "voted for",
    SHOOT: "shot",
}
_PACKS = {
    1: "the werewolf decides whom to kill",
    2: "the werewolf with the lower number proposes whom to kill and the other decides",
    3: "the werewolves propose, in the order of their numbers, whom to kill, and the last of them decides",
}
_NOT_DONE = {PROPOSE: "proposed nobody", KILL: "chose to kill nobody", VOTE: "abstained"}


class Werewolf(Deduction):
    """One game.

    ``options``: By which rules. ``deal``: Who has which role; None: drawn when the game begins. Raises InputError: A
    deal of other roles than the options have.
    """

    kind: ClassVar[str] = "werewolf"
    teams: ClassVar[Mapping[str, str]] = TEAMS
    meanings: Mapping[str, str] = {
        PROPOSE: "say to the other werewolf whom to kill; it decides",
        KILL: "decide whom the werewolves kill this night",
        CHECK: "learn whether a player is a werewolf",
        GUARD: "protect a player from being killed this night",
        VOTE: "vote for one player to be out, or abstain (0)",
        SHOOT: "shoot one player, who is out, or nobody (0)",
    }

    def __init__(self, options: Options | None = None, deal: Deal | None = None) -> None:
        self.options = options or Options()
        if deal is not None and sorted(deal) != sorted(self.options.roles):
            try:
                check_roles(deal)
            except ValueError as error:
                raise InputError(f"deal: {error}") from None
            raise InputError(f"deal: {', '.join(deal)}; the roles of this game are {', '.join(self.options.roles)}")
        roles = self.options.roles
        more = (
            {PROPOSE: "say to the other werewolves whom to kill; the last decides"} if roles.count(WEREWOLF) > 2 else {}
        )
        meanings = {**self.meanings, **more}
        self.meanings = {kind: meaning for kind, meaning in meanings.items() if kind != SHOOT or HUNTER in roles}
        super().__init__(len(self.options.roles), self.options, deal)

    def _dealt(self, draws: Random) -> Deal:
        return tuple(draws.sample(self.options.roles, len(self.options.roles)))

    def _open(self) -> None:
        self.table = Table(self.options, self.deal)
        wolves = self.table.wolves
        if len(wolves) > 1:
            self.tell(PACK, f"The werewolves are {' and '.join(map(called, wolves))}.", wolves, wolves)

    def _copied(self) -> None:
        self.table = self.table.copy()

    def _stage(self) -> Stage:
        return Stage("day" if self._public() else "night", self.table.day)

    def _acting(self) -> tuple[int, ...]:
        return self.table.acting()

    def _alive(self) -> tuple[int, ...]:
        return self.table.alive

    def _choices(self, seat: int) -> Mapping[str, tuple[Aim, ...]]:
        return {self.table.phase: self.table.aims(seat)}

    def _default(self, seat: int) -> tuple[str, Aim]:
        return self.table.phase, self.table.default()

    def _speakers(self) -> tuple[int, ...]:
        return self.table.alive if self.table.phase == VOTE else ()

    def _public(self) -> bool:
        return self.table.phase in (VOTE, SHOOT)

    def _witnesses(self, seat: int) -> tuple[int, ...]:
        return self.table.wolves if self.table.phase in (PROPOSE, KILL) else (seat,)

    @staticmethod
    def words(kind: str, aim: Aim) -> str:
        """An act as something done."""
        return f"{_DONE[kind]} {called(aim)}" if aim else _NOT_DONE.get(kind, f"{_DONE[kind]} nobody")

    def _do(self, acts: Mapping[int, tuple[str, Aim]]) -> None:
        table, stage = self.table, self._stage()
        (seat, *_) = acts
        for result in table.do({one: aim for one, (_, aim) in acts.items()}, self.chance.draws):
            kind, what, more = result
            if kind == CHECKED:
                is_one = "a werewolf" if more else "no werewolf"
                self.tell(CHECKED, f"{called(int(what))} is {is_one}.", (what, more), (seat,), stage)
            elif kind in (KILLED, OUT):
                # What dawn shows belongs to the day.
                self.tell(kind, _fate(result), what, stage=Stage("day", stage.round))
            elif kind == FELL:
                said = f"{called(int(what))} is the hunter, and may shoot one player."
                self.tell(kind, said, what, stage=Stage("day", stage.round))
            else:
                self.tell(kind, self._ending(), what, stage=Stage("day", stage.round))
                self.tell(ROLES, f"The roles were: {self._roles()}.", self.deal, stage=Stage("day", stage.round))

    def most_acts(self, seat: int) -> int:
        """By day a speech and a vote, by night one act at most; every day, though somebody is out on most."""
        return 3 * self.options.most_days

    def _won(self, seat: int) -> bool:
        return bool(self.teams[self.deal[seat - 1]] == self.table.winner)

    def rules_in_words(self) -> str:
        """The rules, with the options in force."""
        options = self.options
        tie = "one of them, drawn by lot, is out" if options.tie == "lot" else "nobody is out"
        guard = "a living player, itself included" if options.self_guard else "another living player"
        night = [_PACKS[options.roles.count(WEREWOLF)]]
        night += ["the seer learns of one living player whether it is a werewolf"] * (SEER in options.roles)
        night += [f"the guardian protects {guard}, without knowing the target"] * (GUARDIAN in options.roles)
        hunter = (
            "The hunter, when killed or out, first shoots one player, or nobody. " if HUNTER in options.roles else ""
        )
        count = [_counted(role, options.roles.count(role)) for role in dict.fromkeys(options.roles)]
        return (
            f"Werewolf, {len(options.roles)} players ({', '.join(count)}). Werewolves know each other; others know "
            f"their own role alone. In a night, {'; '.join(night)}. Then it is day: who was killed is told (nobody, if "
            "the target was protected), everybody alive speaks once, in the order of the numbers, and all vote at once "
            "for one other player, or abstain; votes are public. Who has most votes is out; of several who have most, "
            f"{tie}; if all abstain, nobody. {hunter}Roles of the dead are not told. The werewolves win when they are "
            "as many as the others, the village (all others) when no werewolf is left; after day "
            f"{options.most_days} the werewolves have won. Whoever does nothing says nothing, abstains, confirms what "
            "is proposed, or acts on nobody."
        )

    def role_in_words(self, seat: int) -> str:
        """The role and the team."""
        role = self.deal[seat - 1]
        one = "the" if self.deal.count(role) == 1 else "a"
        return f"You are {called(seat)}, {one} {role}, of the team {self.teams[role]}."

    @staticmethod
    def fits(facts: PrivateInformation) -> Sequence[Deal]:
        """The deals that a player's facts allow."""
        return possible_deals(facts)

    def _roles(self) -> str:
        return ", ".join(f"{called(seat)} {role}" for seat, role in enumerate(self.deal, 1))

    def _ending(self) -> str:
        if self.table.winner == VILLAGE:
            return "The village has won: no werewolf is left."
        reached = 2 * len(self.table.wolves) >= len(self.table.alive)
        why = "they are as many as the others" if reached else f"day {self.options.most_days} has passed"
        return f"The werewolves have won: {why}."


def _counted(role: str, times: int) -> str:
    several = "werewolves" if role == WEREWOLF else f"{role}s"
    return f"one {role}" if times == 1 else f"{times} {several}"


def _fate(result: Result) -> str:
    """What the moderator tells of a night, or of a vote."""
    kind, what, first = result
    if kind == KILLED:
        return f"{called(int(what))} was killed in the night." if what else "Nobody was killed in the night."
    assert isinstance(first, tuple)
    names = " and ".join(map(called, first))
    if not first:
        return "Everybody abstained: nobody is out."
    if len(first) == 1:
        return f"{names} has the most votes and is out."
    if what == NOBODY:
        return f"{names} have the most votes: nobody is out."
    return f"{names} have the most votes; by lot, {called(int(what))} is out."


GAME = GameKind(
    Werewolf,
    Options,
    Werewolf,
    roster_of(
        Werewolf.kind,
        {
            "claims": "apportion.environments.deduction.werewolf.scripts:Claims",
            "bayes": "apportion.environments.deduction.werewolf.scripts:BayesianAgent",
            "sla": "apportion.environments.deduction.chooser:SLA",
            "lspo": "apportion.environments.deduction.latent_strategies:LSPO",
            "strategist": "apportion.environments.deduction.werewolf.strategist:Strategist",
        },
    ),
)
SIMULATOR = GAME.simulator
