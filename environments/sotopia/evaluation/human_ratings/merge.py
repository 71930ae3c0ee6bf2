"""From what people rate, on a form or at a terminal, to a corpus with their ratings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from apportion.corpus.builder import SkippedSession
from apportion.corpus.corpus import Corpus
from apportion.corpus.writer import ImportReport, check_free, claim
from apportion.environments.sotopia.evaluation.episodes import Episodes, read_episodes
from apportion.environments.sotopia.evaluation.human_ratings.log import KEPT, RatingLog, check_annotator, left
from apportion.environments.sotopia.evaluation.human_ratings.sheet import as_text, read_sheet, sheet, sign_of
from apportion.environments.sotopia.evaluation.human_ratings.terminal_form import Asking, Stopped
from apportion.environments.sotopia.evaluation.rated_corpus import (
    Changes,
    check_judges,
    check_out,
    corpus_digests,
    made_before,
    place_rated,
)
from apportion.environments.terminal.console import Screen
from apportion.foundation.errors import InputError
from apportion.foundation.files import locked, write_atomically

KIND = "judge: people"


@dataclass(frozen=True)
class RatedByPeople:
    """The new corpus; ``left`` by annotator how many dimensions are not rated; and sessions that nobody can rate."""

    report: ImportReport
    left: Mapping[str, int]
    unread: tuple[SkippedSession, ...]


@dataclass(frozen=True)
class ByPeople:
    """Ratings of one corpus by people, collected in the folder of another.

    ``corpus``: Simulated episodes. ``out``: The new corpus; several people may rate there, one after the other.
    ``without``: Whose earlier ratings the new corpus leaves out.
    """

    corpus: Corpus
    out: Path
    without: tuple[str, ...] = ()

    def write_sheet(self, path: Path) -> int:
        """Write a blank form, and beside it (``.txt``) the episodes to read; how many rows it has.

        Raises InputError: The corpus has no social episodes. Raises OSError: A file cannot be written.
        """
        episodes = self._episodes().read
        text = sheet(episodes)
        write_atomically(path.with_suffix(".txt"), "\n".join(as_text(sign_of(one.session_id), one) for one in episodes))
        write_atomically(path, text)
        return sum(7 * len(episode.people) for episode in episodes)

    def add_sheets(self, sheets: Mapping[str, Path]) -> RatedByPeople:
        """Take the forms of annotators, all or none, and write the corpus.

        Raises InputError: a form or a name that cannot be used, nothing in it, or a folder that holds something else.
        """
        episodes = self._episodes()
        found = {name: read_sheet(path, check_annotator(name), episodes.read) for name, path in sheets.items()}
        for name, ratings in found.items():
            if not ratings:
                raise InputError(f"{sheets[name]}: no score is filled in, so there is nothing of {name!r} to take")

        def add(kept: RatingLog) -> int:
            return kept.add({key: given for ratings in found.values() for key, given in ratings.items()})

        return self._write(tuple(sheets), episodes, add)

    def ask(self, annotator: str, screen: Screen) -> RatedByPeople:
        """Ask a person at a terminal for what they have not rated, until all is rated or they stop; write the corpus.

        Ctrl-C, a kill or the end of the input lose nothing that was answered: the same call goes on behind it.

        Raises InputError: a name that cannot be used, or a folder that holds something else.
        """
        check_annotator(annotator)
        episodes = self._episodes()

        def ask(kept: RatingLog) -> int:
            with suppress(Stopped):
                Asking(screen, kept, annotator).all(episodes.read)
            return 0

        return self._write((annotator,), episodes, ask)

    def _episodes(self) -> Episodes:
        check_out(self.corpus, self.out)
        return read_episodes(self.corpus)

    def _write(
        self, annotators: tuple[str, ...], episodes: Episodes, rate: Callable[[RatingLog], int]
    ) -> RatedByPeople:
        check_judges(self.corpus, annotators, self.without)
        record = {"kind": KIND, **made_before(self.corpus), "corpus": corpus_digests(self.corpus)}
        record["without"] = list(self.without)
        check_free(self.out, record)
        with _unshared(self.out):
            claim(self.out, record)
            try:
                kept = RatingLog.open(self.out)
                before = self._keep_earlier(kept)
                replaced = rate(kept)
            except OSError as error:
                raise InputError(f"{self.out / KEPT}: cannot be written ({error.strerror or error})") from None
            notes = ["ratings by people, of simulated episodes"]
            if replaced:
                notes.append(f"{replaced:,} ratings replace earlier ones of the same people")
            changes = Changes(
                tuple(verdict for verdict in kept.verdicts() if verdict.judge not in before),
                without=self.without,
                broken=episodes.broken,
                notes=tuple(notes),
            )
            report = place_rated(self.corpus, changes, self.out, record)
        pairs = [(episode.session_id, person.name) for episode in episodes.read for person in episode.people]
        everybody = sorted({key.annotator for key in kept.given}.difference(before) | set(annotators))
        return RatedByPeople(report, {name: left(kept, name, pairs) for name in everybody}, episodes.unread)

    def _keep_earlier(self, kept: RatingLog) -> set[str]:
        """Bring along what people have rated of the old corpus, but for those left out; who they are."""
        earlier = RatingLog.read(self.corpus.root)
        given = {key: one for key, one in earlier.items() if key.annotator not in self.without}
        kept.add(given)
        return {key.annotator for key in given}


@contextmanager
def _unshared(out: Path) -> Iterator[None]:
    """Nobody else rates into the folder, which goes again if nothing came into it."""
    made_folder = not out.exists()
    lock = out / f"{KEPT}.lock"
    try:
        with locked(lock, f"{out}: somebody else is rating there; rate into another folder, or later", InputError):
            try:
                yield
            finally:
                lock.unlink(missing_ok=True)
    finally:
        if made_folder and out.is_dir() and not any(out.iterdir()):
            out.rmdir()
