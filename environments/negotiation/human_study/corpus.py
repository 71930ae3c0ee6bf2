"""A study's games as an ordinary corpus: what the rules say of both, and what the person says of the agent."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow as pa

from apportion.corpus.builder import CorpusBuild, CorpusRows
from apportion.corpus.writer import ImportReport, check_free, place
from apportion.environments.collect_episodes import CollectedEpisode, CollectionResult, EpisodePlan
from apportion.environments.corpus_export import to_corpus
from apportion.environments.negotiation.game import Negotiation
from apportion.environments.negotiation.human_study.progress_log import ParticipantSession
from apportion.environments.negotiation.human_study.results import replayed, sittings_of
from apportion.environments.negotiation.human_study.session import ALICE, PERSON, episode_name
from apportion.environments.negotiation.human_study.settings import StudySettings
from apportion.environments.negotiation.human_study.survey import HIGH, LOW, SURVEY
from apportion.environments.restored_episode import MissingAgent

KIND = "study negotiation"
NOTE = "a person took part in every session, and says what they think of the agent"


def write_study_corpus(settings: StudySettings, folder: Path, out: Path) -> ImportReport | None:
    """Write the games of a study's ``folder`` that are over; None where there are none yet.

    Sessions are called by the participant's id and the game's number. Beside ``points`` and ``advantage`` by the rules
    they have the ratings of Table 1 that have a good end, by the person of the agent.

    Raises InputError: As `apportion.environments.negotiation.human_study.results.read_study_results`; ``out`` holds
    something else.
    """
    record = {"kind": KIND, "study": settings.digest}
    check_free(out, record)
    made = _made(settings, folder)
    return place(KIND, out, made, record) if made.tables["sessions"].num_rows else None


def _made(settings: StudySettings, folder: Path) -> CorpusBuild:
    played, rows = [], CorpusRows()
    for sitting in sittings_of(settings, folder):
        for game, environment in replayed(settings, sitting) if sitting.consented else ():
            name = f"{sitting.participant}-{episode_name(game)}"
            agents = {
                ALICE: MissingAgent(game.agent, "its game is over"),
                PERSON: MissingAgent("person", "its game is over"),
            }
            make = partial(Negotiation, game.context, settings.most_acts)
            played.append(CollectedEpisode(EpisodePlan(name, make, agents, game.seed), environment))
            if len({seat for seat, _ in environment.heard}) == len(agents):
                _rate(rows, name, sitting, game.number)
    made = to_corpus(CollectionResult(tuple(played)))
    tables = {**made.tables, "ratings": pa.concat_tables([made.tables["ratings"], rows.tables()["ratings"]])}
    return replace(made, tables=tables, notes=(NOTE, *made.notes))


def _rate(rows: CorpusRows, session: str, sitting: ParticipantSession, game: int) -> None:
    for question in SURVEY:
        answer = sitting.answers.get((game, question.name))
        if question.scaled and question.good is not None and isinstance(answer, int):
            rows.rating(session, (PERSON, ALICE), question.name, answer, (LOW, HIGH), higher_is_better=question.good)
