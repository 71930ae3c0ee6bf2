"""What a player of Avalon knows: in words, and as the set of deals that can be true."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from apportion.environments.deduction.avalon.cast import (
    ASSASSIN,
    MERLIN,
    MORDRED,
    MORGANA,
    NAMES,
    OBERON,
    PERCIVAL,
    SERVANT,
    Deal,
)
from apportion.environments.deduction.avalon.posterior import Round
from apportion.environments.deduction.avalon.role_assignments import AssassinationResult, Evidence, fitting
from apportion.environments.deduction.avalon.rules import GOES, Options
from apportion.environments.deduction.events import called
from apportion.environments.deduction.observation import PrivateInformation

PROPOSE, APPROVE, REJECT, PASS, FAIL, NAME = "propose", "approve", "reject", "pass", "fail", "assassinate"
"""Kinds of acts beside speech; a proposal is aimed at the team, the last at whom the Assassin holds to be Merlin."""
NIGHT, RESULT, WENT, SHOT = "night", "result", "went", "shot"
"""Kinds of what the rules make known: who is seen at night (their seats), whether a team goes (True,
False), who went on a quest and how many failed it, and the last shot (by whom, at whom, whether at Merlin)."""
MEANINGS = {
    PROPOSE: "propose who goes on the quest",
    APPROVE: "vote for the team",
    REJECT: "vote against the team",
    PASS: "let the quest pass, unseen",
    FAIL: "fail the quest, unseen",
    NAME: "name the one player whom you hold to be Merlin; it ends the game",
}
_ORDINALS, _NUMBERS = ("first", "second", "third", "fourth", "fifth"), ("One", "Two", "Three")


def rules_in_words(options: Options) -> str:
    """The rules, as everybody knows them."""
    players, quests = len(options.roles), options.sizes
    dealt = ", ".join(
        _counted(options.roles.count(role), name) for role, name in NAMES.items() if role in options.roles
    )
    nth, decisive = _ORDINALS[options.proposals - 1], _NUMBERS[options.decisive - 1]
    last = "goes however it is voted on" if options.last_team == GOES else "is the last: evil wins if it is rejected"
    good = [word for role, word in ((PERCIVAL, "Percival"), (SERVANT, "the Servants")) if role in options.roles]
    hidden, apart = _but(MORDRED, options.roles), _but(OBERON, options.roles)
    percival = f"Percival knows {_percivals(options.roles)}; " if PERCIVAL in options.roles else ""
    two = " (the fourth: two)" if any(options.fails(quest) > 1 for quest in range(len(quests))) else ""
    return (
        f"Avalon, {players} players: {dealt}. {_and(['Merlin', *good])} are good, the others evil. Merlin knows who is "
        f"evil{hidden}; {percival}evil players{apart} know each other; nobody else knows anything but their own role. "
        f"There are up to {len(quests)} quests, for teams of {_and(quests)}. The leader proposes a team; then "
        "everybody speaks once, in order from Player 1; then all vote at once, for all to see. A team goes if more "
        f"than half of all votes are for it; the {nth} team of a quest {last}. Whether it goes or not, the next player "
        "leads. Who "
        "goes on a quest plays a card unseen: a good player lets it pass, an evil one lets it pass or fails it. Only "
        f"the number of fails is told, and one fails the quest{two}. {decisive} failed: evil wins. {decisive} passed: "
        "the Assassin names one player, once; evil wins if that is Merlin, else good. Who does nothing proposes "
        "themselves with the next players in order, votes against the team, lets the quest pass, or names the "
        f"next player who is not {'known to the Assassin to be evil' if apart else 'evil'}."
    )


def role_in_words(role: str, roles: Deal) -> str:
    """What somebody is told of a role of theirs, in a game of these roles."""
    if role == MERLIN:
        return (
            f"You are Merlin, a good player who knows who is evil{_but(MORDRED, roles)}, but not which of them is the "
            "Assassin. Do not let the Assassin find out who you are."
        )
    if role == PERCIVAL:
        return f"You are Percival, a good player; you know {_percivals(roles)}."
    if role == SERVANT:
        return "You are a Servant of Arthur, a good player; you know nobody's role but your own."
    if role == OBERON:
        return "You are Oberon, an evil player; you do not know who else is evil, and they do not know you."
    article = "" if role in (MORGANA, MORDRED) else "a " if roles.count(role) > 1 else "the "
    more = {
        ASSASSIN: " After three passed quests you name one player, and evil wins if that is Merlin.",
        MORDRED: " Merlin does not know you.",
        MORGANA: " Percival sees you beside Merlin." if PERCIVAL in roles else "",
    }.get(role, "")
    known = f"an evil player; you know who else is evil{_but(OBERON, roles)}."
    return f"You are {article}{NAMES[role]}, {known}{more}"


def night_in_words(seat: int, role: str, evil: Sequence[int]) -> str:
    """What a seat (from 1) sees at night, where it sees anything: evil players, or as Percival those like Merlin."""
    others = [one for one in evil if one != seat]
    if role == PERCIVAL:
        of = "are Merlin and Morgana, in this order or the other" if len(evil) > 1 else "is Merlin"
        return f"You see that {players_in_words(evil)} {of}."
    if role == MERLIN:
        return f"You see that {players_in_words(evil)} {'are' if len(evil) > 1 else 'is'} evil."
    if not others:
        return "You see that nobody else is evil."
    return f"You see that {players_in_words(others)} {'are' if len(others) > 1 else 'is'} evil, too."


def players_in_words(seats: Iterable[int]) -> str:
    """Seats by their names.

    >>> players_in_words((1, 3, 4))
    'Player 1, Player 3 and Player 4'
    """
    return _and([called(seat) for seat in seats])


def evidence_of(facts: PrivateInformation) -> Evidence:
    """What a player knows for certain."""
    seen = next((frozenset(one - 1 for one in event.data) for event in facts.events if event.kind == NIGHT), None)
    quests = tuple(one.others_fails(facts.seat - 1) for one in rounds_of(facts) if one.fails is not None)
    shots = [event.data for event in facts.events if event.kind == SHOT]
    shot = AssassinationResult(shots[0][0] - 1, shots[0][1] - 1, shots[0][2]) if shots else None
    return Evidence(facts.seat - 1, facts.role, seen, quests, shot)


def possible_deals(facts: PrivateInformation) -> Sequence[Deal]:
    """Every deal that fits what a player knows."""
    return fitting(facts.rules.roles, evidence_of(facts))


def rounds_of(facts: PrivateInformation) -> tuple[Round, ...]:
    """The proposals so far, each with what came of it; the last may not have been voted on."""
    rounds: list[Round] = []
    votes: list[bool] = []
    own = 0
    for event in facts.events:
        if event.kind == PROPOSE:
            rounds.append(Round(event.seat - 1, tuple(one - 1 for one in event.data)))
            votes, own = [], 0
        elif event.kind in (APPROVE, REJECT):
            votes.append(event.kind == APPROVE)
        elif event.kind == RESULT:
            rounds[-1] = Round(rounds[-1].leader, rounds[-1].team, tuple(votes))
        elif event.kind == FAIL:
            own = 1
        elif event.kind == WENT:
            rounds[-1] = Round(rounds[-1].leader, rounds[-1].team, tuple(votes), event.data[1], own)
    return tuple(rounds)


def _but(role: str, roles: Deal) -> str:
    return f" but for {NAMES[role]}" if role in roles else ""


def _percivals(roles: Deal) -> str:
    return "who are Merlin and Morgana, but not who is who" if MORGANA in roles else "who is Merlin"


def _and(things: Sequence[object]) -> str:
    words = [str(thing) for thing in things]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _counted(count: int, name: str) -> str:
    return f"{count} {name.replace(' of', 's of') if count > 1 else name}"
