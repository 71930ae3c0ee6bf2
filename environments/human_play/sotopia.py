"""A person plays an episode, which becomes a session of a corpus; more of them go into the same folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path

from apportion.corpus.writer import check_free, folder_for
from apportion.environments.agents.agent import Agent
from apportion.environments.collect_episodes import EpisodePlan
from apportion.environments.episode_log import LoggedEpisode
from apportion.environments.human_play.episode import PersonPlayed, PersonsEpisode
from apportion.environments.human_play.sotopia_roles import HumanRoleAssignment, PersonChoice, cast
from apportion.environments.sotopia.agents import agents_of
from apportion.environments.sotopia.game import Rules, Sotopia
from apportion.environments.sotopia.simulator import task_in
from apportion.environments.sotopia.sources.serialization import is_bundled, task_record
from apportion.environments.sotopia.text_rendering import SotopiaRenderer
from apportion.environments.terminal.console import Screen
from apportion.environments.terminal.human_agent import HumanAgent
from apportion.foundation.errors import ApportionError

KIND = "play sotopia"
RECORD = {"kind": KIND}
"""What such a corpus is made by; any episode that a person plays may be added."""
NOTE = "a person took part in every session; the scenario, the characters and what rules score are simulated"


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
        person = HumanAgent(screen, SotopiaRenderer(choice.rules), choice.person)
        plan = _plan(choice, casting, person, agents[choice.partner])
        return PersonsEpisode(KIND, plan, person, casting.character, NOTE, _made_again).play(out)


def _plan(choice: PersonChoice, casting: HumanRoleAssignment, person: HumanAgent, partner: Agent) -> EpisodePlan:
    task = casting.task
    seats: dict[str, Agent] = {one.name: partner for one in task.characters}
    seats[casting.character] = person
    about = {"scenario": task.scenario.name, "rules": asdict(choice.rules), "person": casting.seat}
    if not is_bundled(task):
        about["task"] = task_record(task)
    make = partial(Sotopia, task, choice.rules)
    return EpisodePlan(casting.episode, make, seats, f"{choice.seed}/{casting.episode}", about)


def _made_again(logged: LoggedEpisode) -> Sotopia:
    return Sotopia(task_in(logged), Rules(**logged.opening["about"]["rules"]))


@contextmanager
def _hidden_names_kept(casting: HumanRoleAssignment, rules: Rules) -> Iterator[None]:
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
