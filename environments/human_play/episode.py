"""A person plays an episode, which becomes a session of a corpus; more of them go into the same folder."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from apportion.corpus.writer import ImportReport, claim, place
from apportion.environments.collect_episodes import CollectedEpisode, CollectionResult, EpisodePlan, simulate
from apportion.environments.corpus_export import to_corpus
from apportion.environments.environment import Environment, Observation
from apportion.environments.episode_log import LOG, LoggedEpisode, read_log
from apportion.environments.restored_episode import MissingAgent
from apportion.environments.terminal.human_agent import HumanAgent
from apportion.foundation.errors import ApportionError, InputError, UnitError
from apportion.llm_client.model_spec import Called

_NAMED = re.compile(r"[\w.-]{1,40}")


@dataclass(frozen=True)
class PersonPlayed:
    """What came of it.

    ``again`` says that the episode was over before, so that nobody was asked for anything; ``acts`` how many it has;
    ``scores`` are the person's own by the judge ``rules``, where it knows; ``begun`` counts other episodes of the
    folder that are not over; ``report`` is the whole corpus'.
    """

    again: bool
    acts: int
    scores: Mapping[str, float]
    begun: int
    report: ImportReport


@dataclass(frozen=True)
class PersonsEpisode:
    """One episode in which a person takes part.

    Parameters
    ----------
    kind : str
        What makes the corpus, as ``play sotopia``.
    plan : EpisodePlan
        The episode, the person among its agents.
    person : Person
        Who is asked.
    seat : str
        The environment's agent whom the person plays.
    note : str
        What is said of the corpus.
    made_again : callable
        The environment of any episode of the kind, from what its log says; raises as `_again` has it.
    """

    kind: str
    plan: EpisodePlan
    person: HumanAgent
    seat: str
    note: str
    made_again: Callable[[LoggedEpisode], Environment]

    @property
    def record(self) -> dict[str, str]:
        """What such a corpus is made by; any episode that a person plays may be added."""
        return {"kind": self.kind}

    def play(self, out: Path) -> PersonPlayed:
        """Let the person play to the end, from where the episode stands in the log of ``out``; the corpus of all there.

        An act of the person, as every reply that is paid for, is on the disk before it is used: stopped or killed at
        any moment, the same call goes on, and nobody is asked again for what was done.

        Raises
        ------
        InputError
            The folder's log is damaged, or holds another kind of episode.
        EOFError
            The person stops, or the input has ended.
        StoppedError
            The partner's budget is spent.
        UnitError
            The partner failed; the same call goes on with the episode.
        """
        logged = read_log(out / LOG).get(self.plan.name)
        again = logged is not None and logged.closing is not None
        claim(out, self.record)
        begun = self.plan.make()
        begun.reset(self.plan.seed)
        self.person.see_the_beginning(Observation(begun, self.seat))
        played = _played(self.plan, out / LOG)
        self.person.see_the_end(Observation(played.environment, self.seat))
        over, unfinished = self._in_the_folder(out / LOG)
        made = to_corpus(CollectionResult(over))
        outcome = played.environment.outcome()[self.seat]
        scores = {name: value for name, value in outcome.items() if value is not None}
        report = place(self.kind, out, replace(made, notes=(self.note, *made.notes)), self.record)
        return PersonPlayed(again, len(played.environment.steps), scores, unfinished, report)

    def _in_the_folder(self, log: Path) -> tuple[tuple[CollectedEpisode, ...], int]:
        """The episodes of a log that are over, played again without asking anybody, and how many are not."""
        over, begun = [], 0
        for name, logged in read_log(log).items():
            if logged.closing is None:
                begun += 1
                continue
            try:
                over.append(self._again(name, logged))
            except (ApportionError, KeyError, TypeError, ValueError) as error:
                raise InputError(
                    f"{log}: episode {name!r} cannot be played again ({error}). Name another folder"
                ) from None
        return tuple(over), begun

    def _again(self, name: str, logged: LoggedEpisode) -> CollectedEpisode:
        environment, seed = self.made_again(logged), logged.opening["seed"]
        agents = {seat: MissingAgent(called, "its episode is over") for seat, called in logged.opening["agents"]}
        environment.replay(seed, logged.steps)
        return CollectedEpisode(EpisodePlan(name, lambda: environment, agents, seed), environment)


def check_person(name: str, taken: Iterable[str], called: Called) -> None:
    """Hold what a person is called to what a corpus can name.

    Raises
    ------
    InputError
        It is no such name, or one of the agents' (``taken``).
    """
    if not _NAMED.fullmatch(name):
        raise InputError(f"{called('person')} {name!r}: give 1 to 40 letters, digits, dots, hyphens or underscores")
    if name in taken:
        raise InputError(f"{called('person')} {name!r} is an agent's name; a person needs another one")


def _played(plan: EpisodePlan, log: Path) -> CollectedEpisode:
    simulated = simulate([plan], log)
    for failed in simulated.failed:
        raise UnitError(f"the episode could not go on: {failed.message}. What was played is kept")
    (played,) = simulated.played
    return played
