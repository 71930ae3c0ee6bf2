"""What came of a study: every game that counts, with what was reached and what was answered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from apportion.environments.environment import InvalidActionError
from apportion.environments.episode_log import LOG, read_log
from apportion.environments.negotiation.game import Negotiation
from apportion.environments.negotiation.human_study.design import PRACTICE, StudyGame, games_of
from apportion.environments.negotiation.human_study.progress_log import ParticipantSession, sittings
from apportion.environments.negotiation.human_study.session import ALICE, PERSON, episode_name
from apportion.environments.negotiation.human_study.settings import StudySettings
from apportion.environments.negotiation.human_study.survey import SURVEY
from apportion.environments.negotiation.pareto import solve
from apportion.foundation.errors import InputError


@dataclass(frozen=True)
class StudiedGame:
    """One game of one participant.

    ``participant``, ``agent``: Whose game it is, and who played Alice. ``points``: Of Alice and of the person.
    ``agreed``: Whether what both took adds up. ``pareto``: Whether nobody could have had more without the other having
    less; None without a deal. ``acts``: How many there were. ``answers``: By question of the survey; without those that
    are not answered yet.
    """

    participant: str
    agent: str
    points: tuple[float, float]
    agreed: bool
    pareto: bool | None
    acts: int
    answers: Mapping[str, int | str]


@dataclass(frozen=True)
class StudyResults:
    """Everybody's games, and how many took part, declined, or have not come to the end."""

    agents: tuple[str, ...]
    games: tuple[StudiedGame, ...]
    took_part: int
    declined: int
    unfinished: int


def sittings_of(settings: StudySettings, folder: Path) -> list[ParticipantSession]:
    """Everybody's sitting who agreed to take part, or declined.

    Raises InputError: A file is damaged, or of another study.
    """
    everybody = [sitting for sitting in sittings(folder) if sitting.consented is not None]
    for sitting in everybody:
        if sitting.study != settings.digest:
            raise InputError(f"{sitting.folder}: begun with another study file. Move it elsewhere, or give that file")
    return everybody


def read_study_results(settings: StudySettings, folder: Path) -> StudyResults:
    """What a study's folder holds; games of who did not agree there are none.

    Raises InputError: A file is damaged, of another study, or holds a game that these rules do not allow.
    """
    everybody = sittings_of(settings, folder)
    consenting = [sitting for sitting in everybody if sitting.consented]
    games = [
        _studied(sitting, game, environment)
        for sitting in consenting
        for game, environment in replayed(settings, sitting)
    ]
    return StudyResults(
        settings.agents,
        tuple(games),
        len(consenting),
        len(everybody) - len(consenting),
        sum(not sitting.ended for sitting in consenting),
    )


def replayed(settings: StudySettings, sitting: ParticipantSession) -> Iterator[tuple[StudyGame, Negotiation]]:
    """The games of a sitting that count and are over, each at its end.

    Raises InputError: The log is damaged, lacks one, or holds acts that the rules do not allow.
    """
    log = read_log(sitting.folder / LOG)
    for game in games_of(settings, sitting.participant):
        if game.number == PRACTICE or game.number not in sitting.played:
            continue
        place = f"{sitting.folder / LOG}: {episode_name(game)}"
        logged = log.get(episode_name(game))
        if logged is None:
            raise InputError(f"{place} is not there, and was played. Bring back the file")
        environment = Negotiation(game.context, settings.most_acts)
        try:
            environment.replay(game.seed, logged.steps)
        except InvalidActionError as error:
            raise InputError(f"{place}: {error}. Bring back the file") from None
        yield game, environment


def _studied(sitting: ParticipantSession, game: StudyGame, environment: Negotiation) -> StudiedGame:
    rules = environment.game
    outcome = environment.outcome()
    answers = {
        question.name: sitting.answers[game.number, question.name]
        for question in SURVEY
        if (game.number, question.name) in sitting.answers
    }
    return StudiedGame(
        sitting.participant,
        game.agent,
        (outcome[ALICE]["points"] or 0.0, outcome[PERSON]["points"] or 0.0),
        rules.agreed,
        solve(game.context).pareto(rules.taken[0]) if rules.agreed else None,
        len(rules.acts),
        answers,
    )
