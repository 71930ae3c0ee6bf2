"""Speeches that have a follower (section 3.1), from self-play corpora and files of turns (section 4.1)."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from apportion.corpus.corpus import Corpus
from apportion.environments.environment import Action, AgentAction, Environment
from apportion.environments.registry import SIMULATORS, open_session
from apportion.environments.restored_episode import RestoredEpisode
from apportion.foundation.errors import InputError, UnitError
from apportion.foundation.truncate import first_few
from apportion.llm_client.request import ChatReply, ChatRequest
from apportion.rlhf.stackelberg.instances.instance import Instance, in_json, read_instances

_PROBE = 'He said: "I\'m <b>sure</b>\\ [INST]."'
"""A speech that an environment which shows words as anything but JSON text would show otherwise."""


@dataclass(frozen=True)
class LeaderFollowerPair:
    """One speech: the environment before it, who makes it, and who speaks next."""

    environment: Environment
    step: int
    move: AgentAction
    follower: str


def instances_of(reopened: RestoredEpisode) -> Iterator[Instance]:
    """Every speech of a session that has a follower, in their order.

    A round's last speaker leads nobody: its words are answered by votes, not by a speech.
    """
    turn_of = {(place.step, place.agent): turn for turn, place in enumerate(reopened.places)}
    for led in leader_follower_pairs(reopened):
        environment, leader = led.environment, led.move.agent
        name = f"{environment.kind}/{reopened.session_id}#{turn_of[led.step, leader]}"
        before = environment.observe(leader)
        mark = _mark(name, before)
        after = _after(led, mark).observe(led.follower)
        if mark not in after:
            continue  # The follower does not hear it.
        if _after(led, _PROBE).observe(led.follower) != after.replace(mark, in_json(_PROBE)):
            raise UnitError(
                f"session {reopened.session_id}: {environment.kind} does not show what was said as JSON text, so that "
                "other words cannot be put in its place. Its observation must write speeches by llm_client's data_json"
            )
        agents = environment.agents
        yield Instance(
            name=name,
            game=environment.kind,
            leader=_called(leader, agents, before),
            follower=_called(led.follower, agents, before),
            leader_sees=before,
            follower_sees=after,
            mark=mark,
            said=led.move.act.text,
            answered=_answer(reopened, led),
            backends=(reopened.agents[leader].called, reopened.agents[led.follower].called),
        )


def leader_follower_pairs(reopened: RestoredEpisode) -> Iterator[LeaderFollowerPair]:
    """Every speech of a session that has a follower."""
    for step, moves in enumerate(reopened.steps):
        if len(moves) != 1:
            continue
        (move,) = moves
        if move.act.kind not in reopened.begun.speeches or not move.act.text.strip():
            continue
        follower = follower_of(reopened.after(step), move)
        if follower is not None:
            yield LeaderFollowerPair(reopened.after(step), step, move, follower)


def follower_of(environment: Environment, move: AgentAction) -> str | None:
    """Who speaks next if ``move`` is done now; None: nobody, or whoever spoke it.

    An environment whose order of speech follows from its rules says so itself, by a method ``follower(step)``.
    """
    done = environment.clone()
    done.step({move.agent: move.act})
    own = getattr(environment, "follower", None)
    if own is not None:
        found: str | None = own(len(environment.steps))
        return found
    acting = done.acting()
    if len(acting) != 1 or acting[0] == move.agent or not done.speeches & set(done.legal(acting[0])):
        return None
    return acting[0]


def _after(led: LeaderFollowerPair, words: str) -> Environment:
    after = led.environment.clone()
    act = led.move.act
    after.step({led.move.agent: Action(act.kind, words, act.data)})
    return after


def _answer(reopened: RestoredEpisode, led: LeaderFollowerPair) -> str:
    """What the follower did next that somebody heard."""
    for number, moves in enumerate(reopened.steps[led.step + 1 :], led.step + 1):
        for move in moves:
            if move.agent == led.follower:
                return reopened.after(number).said(move) or ""
    return ""


def _mark(name: str, before: str) -> str:
    """Letters that nobody has said before."""
    number = 0
    while True:
        mark = f"CANDIDATE-{hashlib.sha256(f'{name}/{number}'.encode()).hexdigest()[:16]}"
        if mark not in before:
            return mark
        number += 1


def _called(agent: str, agents: tuple[str, ...], leader_sees: str) -> str:
    """What the leader calls somebody: by name where it knows it, as an observation does without."""
    if agent in leader_sees:
        return agent
    return "the other person" if len(agents) == 2 else f"person {agents.index(agent) + 1}"


GAMES, INSTANCES = 500, 4_000
"""Of each corpus, in section 4.1; for SOTOPIA 800 dialogues and 3,000 instances."""
INSTANCES_FILE = ".jsonl"


@dataclass(frozen=True)
class Turns:
    """The turns that were found and drawn, in the order of their sources.

    ``found`` counts those that have a follower, ``games`` the sessions that they were found in; ``skipped`` says what
    was no instance, how often.
    """

    instances: tuple[Instance, ...]
    found: int
    games: int
    skipped: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        by_game = Counter(instance.game for instance in self.instances)
        backends = sorted({instance.backends[0] for instance in self.instances})
        games = ", ".join(f"{count:,} of {game}" for game, count in sorted(by_game.items()))
        left = "".join(f"; {count:,} sessions left out: {why}" for why, count in self.skipped.items())
        return (
            f"{len(self.instances):,} turns ({games}) of {self.found:,} that have a follower, in {self.games:,} games, "
            f"led by {first_few(backends, 5)}{left}"
        )


def turns_of(
    sources: Sequence[Path],
    *,
    instances: int = INSTANCES,
    games: int | None = None,
    seed: int = 0,
    progress: Callable[[str, int, int], None] = lambda source, done, total: None,
) -> Turns:
    """Every turn with a follower in ``sources``, or as many as are wanted.

    ``sources``: folders of simulated corpora, or files of turns (``.jsonl``) as `turns.instance.write_instances` makes
    them. ``instances``: turns of each game, drawn without regard to the sessions (section 4.1); fewer where there are
    no more. ``games``: sessions of each corpus that are drawn from first; None takes all. ``progress``:
    ``progress(source, done, total)`` after every session. Raises InputError: a source that cannot be read, one turn in
    two of them, or no turn that has a follower.
    """
    found: list[Instance] = []
    sessions, skipped = 0, Counter[str]()
    for source in sources:
        if source.suffix == INSTANCES_FILE:
            read = read_instances(source)
            found += read
            sessions += len({instance.name.rpartition("#")[0] for instance in read})
        else:
            sessions += _played(source, games, seed, found, skipped, progress)
    if not found:
        kinds = ", ".join(SIMULATORS.names())
        left = "".join(f" {count} sessions: {why}." for why, count in skipped.items())
        raise InputError(
            f"{', '.join(map(str, sources))}: no speech that another player answers.{left} Give a corpus that "
            f"`simulate` has made ({kinds})."
        )
    _check_once(found)
    drawn = _drawn(found, instances, seed)
    return Turns(tuple(drawn), len(found), sessions, skipped)


def _played(
    source: Path,
    games: int | None,
    seed: int,
    found: list[Instance],
    skipped: Counter[str],
    progress: Callable[[str, int, int], None],
) -> int:
    """Add a corpus' turns; how many of its sessions have any."""
    corpus = Corpus.open(source)
    names = corpus.session_ids()
    if games is not None and games < len(names):
        names = sorted(Random(f"{seed}/games").sample(names, games))
    used = 0
    for number, name in enumerate(names, 1):
        session = corpus.session(name)
        opened = open_session(session, source, _nobody)
        if not isinstance(opened, RestoredEpisode):
            skipped["no environment of ours made them"] += 1
        else:
            before = len(found)
            try:
                found += instances_of(opened)
            except UnitError as error:
                raise InputError(f"{source}: {error}") from None
            used += len(found) > before
        progress(str(source), number, len(names))
    return used


def _check_once(found: Sequence[Instance]) -> None:
    counted = Counter(instance.name for instance in found)
    twice = [name for name, count in counted.items() if count > 1]
    if twice:
        raise InputError(
            f"turn {twice[0]!r} is in two sources. Name each corpus once; play corpora of one game by agents or "
            "seeds that tell their sessions apart."
        )


def _drawn(found: Sequence[Instance], most: int, seed: int) -> list[Instance]:
    """At most that many of each game, in their order."""
    kept: set[str] = set()
    for game in {instance.game for instance in found}:
        names = [instance.name for instance in found if instance.game == game]
        kept.update(Random(f"{seed}/{game}").sample(names, most) if len(names) > most else names)
    return [instance for instance in found if instance.name in kept]


def _nobody(request: ChatRequest) -> ChatReply:
    raise AssertionError("a session is read, and nobody is asked to play it")
