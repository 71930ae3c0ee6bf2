"""A person rates at a terminal: an episode is shown, then each person in it is rated, dimension by dimension."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from apportion.corpus.files.csvfile import parsed
from apportion.corpus.sotopia_eval import RANGES
from apportion.environments.sotopia.evaluation.episodes import Person, ReadEpisode
from apportion.environments.sotopia.evaluation.human_ratings.log import SKIPPED, RatedKey, RatingLog
from apportion.environments.sotopia.evaluation.human_ratings.sheet import ASKED, asked_line, labelled
from apportion.environments.sotopia.evaluation.scores import DIMENSIONS, DimensionScore, off_range
from apportion.environments.terminal.console import LineError, Screen, printable

MOST_WORDS = 4_000
HELP = (
    "A whole number is the score. show: the episode again; back: the last dimension again; skip: leave this dimension "
    "out; stop: end here, the same command goes on; ?: this."
)


class Stopped(Exception):  # noqa: N818 - no error
    """The person has enough for now."""


class _BackError(Exception):
    """The person wants the last dimension again."""


@dataclass(frozen=True)
class Asking:
    """Asks one annotator for what is not rated yet; every answer is on the disk before the next question.

    ``screen``: Where the person reads and types. ``ratings``: What was rated before, and where it is written down.
    ``annotator``: Who rates.
    """

    screen: Screen
    ratings: RatingLog
    annotator: str

    def all(self, episodes: Sequence[ReadEpisode]) -> None:
        """Ask about every episode, in its order, until all is rated.

        Raises Stopped: The person has enough; what was answered is kept. Raises OSError: The folder cannot be written.
        """
        for number, episode in enumerate(episodes, start=1):
            questions = [(person, dimension) for person in episode.people for dimension in DIMENSIONS]
            if any(self._key(episode, *question) not in self.ratings.given for question in questions):
                self.screen.show(f"===== episode {number} of {len(episodes)} =====")
                self._show(episode)
                self.screen.show("", HELP)
                self._episode(episode, questions)

    def _episode(self, episode: ReadEpisode, questions: Sequence[tuple[Person, str]]) -> None:
        place, again = 0, False
        while place < len(questions):
            person, dimension = questions[place]
            key = self._key(episode, person, dimension)
            if key in self.ratings.given and not again:
                place += 1
                continue
            try:
                given = self._one(episode, person, dimension)
            except _BackError:
                place, again = max(place - 1, 0), True
                continue
            self.ratings.add({key: given})
            place, again = place + 1, False

    def _one(self, episode: ReadEpisode, person: Person, dimension: str) -> DimensionScore:
        low, high = RANGES[dimension]
        self.screen.show("")
        self.screen.show(f"{printable(person.name)}: ", asked_line(dimension))
        self.screen.show("    ", ASKED[dimension].question)
        while True:
            line = self._line(f"{dimension}, {low:g} to {high:g}> ").strip()
            match line.lower():
                case "?" | "help":
                    self.screen.show("", HELP)
                case "show":
                    self._show(episode)
                case "back":
                    raise _BackError
                case "skip":
                    return DimensionScore(None, cause=SKIPPED)
                case "stop":
                    raise Stopped
                case _:
                    score = parsed(line)
                    problem = off_range(dimension, score)
                    if problem is None and score is not None:
                        why = self._why()
                        if why is None:
                            continue
                        return DimensionScore(int(score), why)
                    self.screen.show(
                        "", f"{line[:60]!r} is no score of {dimension}: {problem}. ? tells what else there is."
                    )

    def _why(self) -> str | None:
        """The reasoning; None: the score is to be asked for again."""
        while True:
            words = " ".join(self._line("why (may be empty; back and stop work here, too)> ").split())
            if words.lower() == "back":
                return None
            if words.lower() == "stop":
                raise Stopped
            if len(words) <= MOST_WORDS:
                return words
            self.screen.show("", f"{len(words):,} characters; at most {MOST_WORDS:,} are kept. Say it shorter.")

    def _line(self, prompt: str) -> str:
        while True:
            try:
                return self.screen.ask(prompt)
            except LineError as error:
                self.screen.show("", f"{error}.")
            except EOFError:
                raise Stopped from None

    def _show(self, episode: ReadEpisode) -> None:
        for label, words in labelled(episode):
            self.screen.show(label, words)

    def _key(self, episode: ReadEpisode, person: Person, dimension: str) -> RatedKey:
        return RatedKey(self.annotator, episode.session_id, person.name, dimension)
