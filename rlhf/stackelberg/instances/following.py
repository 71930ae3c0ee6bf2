"""Who answers a speech, and what they read after it (section 3.1): instances of one session that was simulated."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from apportion.environments.environment import Action, AgentAction, Environment
from apportion.environments.restored_episode import RestoredEpisode
from apportion.foundation.errors import UnitError
from apportion.rlhf.stackelberg.instances.instance import Instance, in_json

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

    Raises
    ------
    UnitError
        The environment shows a follower the words of others in a way that cannot be filled in again.
    """
    turn_of = {(place.step, place.agent): turn for turn, place in enumerate(reopened.places)}
    for led in speeches_led(reopened):
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


def speeches_led(reopened: RestoredEpisode) -> Iterator[LeaderFollowerPair]:
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
