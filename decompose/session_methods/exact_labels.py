"""What acts of simulated sessions were worth, computed from all their histories: ground truth for any method.

Where partners are scripts and rules score, every one of the 2^n histories of n acts can be played on, and the Shapley
values of what that brings (SAVOIR, Eq. 4) are no estimate. As turn labels whose annotator says that nobody judged they
tell which method finds the credit, and no method sees them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from apportion.corpus.annotators import COMPUTED
from apportion.corpus.builder import CorpusBuild, CorpusRows
from apportion.corpus.corpus import Corpus
from apportion.corpus.session import Episode, Session
from apportion.corpus.writer import ImportReport, check_free, claim, folder_for, place
from apportion.decompose.session_methods.savoir import savoir
from apportion.decompose.settings import DecomposeSettings
from apportion.environments.episode_log import LOG
from apportion.environments.registry import open_session
from apportion.environments.sotopia.evaluation.rated_corpus import corpus_digests, made_before
from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.errors import InputError, UnitError
from apportion.foundation.files import write_atomically
from apportion.foundation.truncate import listed
from apportion.llm_client.request import ChatReply, ChatRequest
from apportion.llm_client.session import LLMSession
from apportion.llm_client.settings import LLMSettings

KIND = "exact labels"
ANNOTATOR = f"{COMPUTED}shapley"
MOST_ACTS = 10
"""Of one target: each further act doubles the histories."""


@dataclass(frozen=True)
class ExactChoice:
    """Whose acts are labelled, and by how many plays.

    - ``corpus`` (Corpus): Simulated sessions, with what their environment needs to open them again.
    - ``rating`` (str, optional): The rating that is shared out; None: every rating there is.
    - ``target`` (str, optional): Of whose acts; None: everybody's who is rated.
    - ``most_acts``: An episode of more acts has no labels.
    - ``rollouts``, ``seed``: Plays of each history, at least 1, and what they draw by:
      `apportion.decompose.method_settings.SavoirSettings`.
    """

    corpus: Corpus
    rating: str | None = None
    target: str | None = None
    most_acts: int = MOST_ACTS
    rollouts: int = 2
    seed: int = 0

    def record(self) -> dict[str, Any]:
        """What decides the labels, as JSON."""
        return {
            "kind": KIND,
            "tables": corpus_digests(self.corpus),
            **{name: getattr(self, name) for name in ("rating", "target", "most_acts", "rollouts", "seed")},
            **made_before(self.corpus),
        }

    def check_named(self) -> None:
        """Raise InputError where the corpus has no such rating, or nobody is rated who is called so."""
        for what, column, name in (("rating", "name", self.rating), ("rated person", "target", self.target)):
            allowed = sorted(set(self.corpus.tables["ratings"][column].to_pylist()))
            if name is not None and name not in allowed:
                hint = did_you_mean(name, allowed, f"there are {listed(allowed)}")
                raise InputError(f"{self.corpus.root}: no {what} {name!r}; {hint}")

    def episodes(self, session: Session) -> Iterator[Episode]:
        """Those of a session that are labelled, whatever they cost."""
        for episode in session.episodes(self.rating):
            if episode.target_turns and self.target in (None, episode.rating.target):
                yield episode


def label_exactly(
    choice: ExactChoice,
    out: Path,
    *,
    overwrite: bool = False,
    progress: Callable[[float, float | None], None] | None = None,
) -> ImportReport:
    """Write the corpus with a label ``computed:shapley`` for every act, named as the rating, in units of it.

    Labels are the values of `apportion.decompose.session_methods.savoir.savoir` with a budget of all 2^n coalitions.
    Where a low score is the good end, an act that lowers it is worth more.

    Raises InputError: The folder holds something else, the corpus has such labels, or none of its episodes can be
    labelled.
    """
    record = choice.record()
    if out.resolve() == choice.corpus.root.resolve():
        raise InputError(f"{out}: the corpus that is labelled is not written over; name another folder")
    if not overwrite:
        check_free(out, record)
    if ANNOTATOR in choice.corpus.turn_labels["annotator"].to_pylist():
        raise InputError(f"{choice.corpus.root}: it has labels by {ANNOTATOR!r} already; label the corpus before")
    choice.check_named()
    rows, causes = CorpusRows(), []
    sessions = choice.corpus.session_ids()
    for done, session_id in enumerate(sessions):
        if progress is not None:
            progress(done, len(sessions))
        causes += _label(choice.corpus.session(session_id), choice, rows)
    new = rows.tables()["turn_labels"]
    if not new.num_rows:
        raise InputError(
            f"{choice.corpus.root}: no act of any episode can be labelled: {listed(causes or ['none'], 3)}"
        )
    labels = pa.concat_tables([choice.corpus.turn_labels, new])
    notes = [f"{new.num_rows:,} labels by {ANNOTATOR}: computed, nobody judged"]
    if causes:
        notes.append(f"{len(causes):,} episodes without labels: {listed(causes, 3)}")
    with folder_for(out):
        claim(out, record)
        log = choice.corpus.root / LOG  # By which the sessions are played on from the new corpus.
        if log.exists():
            write_atomically(out / LOG, log.read_bytes())
        return place(KIND, out, CorpusBuild({**choice.corpus.tables, "turn_labels": labels}, tuple(notes), ()), record)


def _label(session: Session, choice: ExactChoice, rows: CorpusRows) -> list[str]:
    """Add the labels of one session; why its episodes have none."""
    causes = []
    for episode in choice.episodes(session):
        try:
            _label_episode(session, episode, choice, rows)
        except UnitError as error:
            causes.append(str(error))
    return causes


def _label_episode(session: Session, episode: Episode, choice: ExactChoice, rows: CorpusRows) -> None:
    acts, rating = len(episode.target_turns), episode.rating
    where = f"session {session.session_id}"
    if acts > choice.most_acts:
        raise UnitError(
            f"{where}: {rating.target} has {acts} acts, of which {2**acts:,} histories can be made; labelled are "
            f"{choice.most_acts} acts at most"
        )
    played = open_session(session, choice.corpus.root, _ask_nobody)
    if played is None:
        raise UnitError(f"{where}: no environment made it, so that there is nothing to play on")
    settings = DecomposeSettings.model_validate({
        "method": "savoir",
        "savoir": {"budget": max(2**acts, 4), "rollouts": choice.rollouts, "seed": choice.seed},
    })  # fmt: skip
    with LLMSession(LLMSettings()) as asker:
        judgements = savoir(episode, None, settings, asker, played)
    widest = rating.high - rating.low
    for judgement in judgements:
        assert judgement.value is not None
        rows.label(session.session_id, judgement.turn, rating.name, judgement.value, (-widest, widest), ANNOTATOR)


def _ask_nobody(request: ChatRequest) -> ChatReply:
    raise UnitError("exact labels take every history of a session, so that only scripts play them on")
