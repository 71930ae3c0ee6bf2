"""Played episodes as an ordinary corpus: a session an episode, the outcome as ratings by ``environment``."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

from apportion.corpus.builder import CorpusBuild, CorpusRows, SkippedSession
from apportion.corpus.session import ENVIRONMENT
from apportion.environments.actions import TIMED_OUT, UNUSABLE
from apportion.environments.agents.agent import UNPREPARED, UNREVISED
from apportion.environments.collect_episodes import CollectedEpisode, CollectionResult
from apportion.environments.environment import Environment, Step
from apportion.environments.role_assignment import BY_RULES

RULES = BY_RULES.called
INSTEAD = {
    UNUSABLE: "no usable reply: another act in its place",
    UNREVISED: "a model gave no usable revision: its draft stands",
    UNPREPARED: "a model gave no usable private note: it acted without",
    TIMED_OUT: "an agent did not act in time: another act in its place",
}
"""By the key in an act's data, what was done instead of what somebody was asked for."""


def to_corpus(simulated: CollectionResult) -> CorpusBuild:
    """The tables of a corpus; not checked, not written.

    ``simulated``: Episodes at their ends. Acts that nobody hears are no utterances; what was known before the first
    step goes to ``backgrounds``; every known value of the outcome is a rating. An agent that said nothing has neither,
    and an episode in which nobody did is no session: both are counted. One with too many unusable acts
    (`apportion.environments.actions.unrated`) has no ratings, and is named among what is left out. Returns: ``source``
    of every session names the environment, the agents and the judge, and says that it is simulated.
    """
    rows = CorpusRows()
    unknown: Counter[str] = Counter()
    for played in simulated.played:
        _add(rows, played, unknown)
    notes = tuple(f"{what} in {times} cases" for what, times in unknown.items())
    without = [(played.plan.name, played.unrated) for played in simulated.played]
    unrated = (SkippedSession(name, f"its ratings alone: {why}") for name, why in without if why)
    return CorpusBuild(rows.tables(), notes, (*simulated.failed, *unrated))


def heard_in(environment: Environment, steps: Iterable[Step]) -> list[tuple[str, str]]:
    """The utterances of an episode in their order, each with its speaker; acts that nobody hears are none."""
    return environment.utterances(steps)


def source_of(played: CollectedEpisode, judge: str) -> str:
    """What a session's ``source`` says."""
    environment = played.environment
    agents = " and ".join(played.plan.agents[name].called for name in environment.agents)
    return f"simulated: {environment.kind}, agents {agents}, judge {judge}"


def _add(rows: CorpusRows, played: CollectedEpisode, unknown: Counter[str]) -> None:
    environment, session = played.environment, played.plan.name
    heard = heard_in(environment, environment.steps)
    if not heard:
        unknown["nobody said a word: no session"] += 1
        return
    rows.session(session, source_of(played, RULES), language="en")
    for turn, (agent, text) in enumerate(heard):
        rows.utterance(session, turn, agent, text)
    speakers = {agent for agent, _ in heard}
    unknown.update(environment.counted())
    acts = (move.act for moves in environment.steps for move in moves)
    for act in acts:
        unknown.update(INSTEAD[key] for key in INSTEAD if isinstance(act.data, dict) and key in act.data)
    for speaker, kind, text in environment.backgrounds():
        if speaker is None or speaker in speakers:
            rows.background(session, kind, text, speaker)
    if played.unrated:
        return
    scales = environment.scales()
    for agent, values in environment.outcome().items():
        if agent not in speakers:
            unknown["an agent said nothing: no rating of it, and nothing of what it knew"] += 1
            continue
        for name, value in _known(values.items(), unknown):
            rows.rating(session, (ENVIRONMENT, agent), name, value, scales[name], annotator=RULES)


def _known(values: Iterable[tuple[str, float | None]], unknown: Counter[str]) -> Iterable[tuple[str, float]]:
    for name, value in values:
        if value is None or not math.isfinite(value):
            unknown[f"{name} is not known: no rating"] += 1
        else:
            yield name, value
