"""A person plays an episode, which becomes a session of a corpus; more of them go into the same folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

from corpus.placing import ImportReport, check_free, claim, folder_for, place
from environments.agents.agent import Agent
from environments.core import View
from environments.episode_log import LoggedEpisode, read_log
from environments.reopened import Absent
from environments.simulate import EpisodePlan, Played, Simulated, simulate
from environments.sotopia.agents import agents_of
from environments.sotopia.game import Rules, Sotopia
from environments.sotopia.person.casting import Casting, PersonChoice, cast
from environments.sotopia.person.telling import SotopiaTelling
from environments.sotopia.simulation import LOG
from environments.sotopia.simulator import task_in
from environments.sotopia.sources.record import is_bundled, task_record
from environments.terminal.person import Person
from environments.terminal.screen import Screen
from environments.to_corpus import to_corpus
from foundation.errors import ApportionError, InputError, UnitError

KIND = "play sotopia"
RECORD = {"kind": KIND}
"""What such a corpus is made by; any episode that a person plays may be added."""
NOTE = "a person took part in every session; the scenario, the characters and what rules score are simulated"


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


def play_sotopia(choice: PersonChoice, out: Path, screen: Screen) -> PersonPlayed:
    """Let a person play to the end of an episode, from where it stands in the folder's log.

    An act of the person, as every reply that is paid for, is on the disk before it is used: stopped or killed at any
    moment, the same call goes on, and nobody is asked again for what was done.

    Parameters
    ----------
    choice : PersonChoice
        Whom the person plays, and with whom.
    out : Path
        The corpus' folder: a new one, or one in which people have played before.
    screen : Screen
        Where the person reads and types; shows only what the person's character knows, and in errors, too, nobody's
        name that is hidden from it.

    Raises
    ------
    InputError
        As `cast`; the folder holds something else, its log is damaged, or the partner cannot be asked.
    EOFError
        The person stops, or the input has ended.
    StoppedError
        The partner's budget is spent.
    UnitError
        The partner failed; the same call goes on with the episode.
    """
    casting = cast(choice)
    check_free(out, RECORD)
    cache = choice.chosen.cache_in(out)
    asked = agents_of((choice.partner,), choice.chosen, cache, choice.called, choice.temperature)
    with folder_for(out), asked as agents, _hidden_names_kept(casting, choice.rules):
        logged = read_log(out / LOG).get(casting.episode)
        again = logged is not None and logged.closing is not None
        claim(out, RECORD)
        person = Person(screen, SotopiaTelling(choice.rules), choice.person)
        person.see_the_beginning(View(Sotopia(casting.task, choice.rules), casting.character))
        played = _played(_plan(choice, casting, person, agents[choice.partner]), out / LOG)
        person.see_the_end(View(played.environment, casting.character))
        over, begun = _in_the_folder(out / LOG)
    made = to_corpus(Simulated(over))
    outcome = played.environment.outcome()[casting.character]
    scores = {name: value for name, value in outcome.items() if value is not None}
    report = place(KIND, out, replace(made, notes=(NOTE, *made.notes)), RECORD)
    return PersonPlayed(again, len(played.environment.steps), scores, begun, report)


def _plan(choice: PersonChoice, casting: Casting, person: Person, partner: Agent) -> EpisodePlan:
    task = casting.task
    seats: dict[str, Agent] = {one.name: partner for one in task.characters}
    seats[casting.character] = person
    about = {"scenario": task.scenario.name, "rules": asdict(choice.rules), "person": casting.seat}
    if not is_bundled(task):
        about["task"] = task_record(task)
    make = partial(Sotopia, task, choice.rules)
    return EpisodePlan(casting.episode, make, seats, f"{choice.seed}/{casting.episode}", about)


def _played(plan: EpisodePlan, log: Path) -> Played:
    simulated = simulate([plan], log)
    for failed in simulated.failed:
        raise UnitError(f"the episode could not go on: {failed.message}. What was played is kept")
    (played,) = simulated.played
    return played


def _in_the_folder(log: Path) -> tuple[tuple[Played, ...], int]:
    """The episodes of a log that are over, played again without asking anybody, and how many are not."""
    over, begun = [], 0
    for name, logged in read_log(log).items():
        if logged.closing is None:
            begun += 1
            continue
        try:
            over.append(_again(name, logged))
        except (ApportionError, KeyError, TypeError, ValueError) as error:
            raise InputError(f"{log}: episode {name!r} cannot be played again ({error}). Name another folder") from None
    return tuple(over), begun


def _again(name: str, logged: LoggedEpisode) -> Played:
    task, rules, seed = task_in(logged), Rules(**logged.opening["about"]["rules"]), logged.opening["seed"]
    agents = {seat: Absent(called, "its episode is over") for seat, called in logged.opening["agents"]}
    game = Sotopia(task, rules)
    game.replay(seed, logged.steps)
    return Played(EpisodePlan(name, partial(Sotopia, task, rules), agents, seed), game)


@contextmanager
def _hidden_names_kept(casting: Casting, rules: Rules) -> Iterator[None]:
    """Errors name characters; those whose names the person may not know are called as on the person's screen."""
    try:
        yield
    except ApportionError as error:
        part = Sotopia(casting.task, rules).facts(casting.character).part
        message = str(error)
        for character, called in zip(casting.task.characters, part.called, strict=True):
            message = message.replace(character.name, called)
        error.args = (message,)
        raise
