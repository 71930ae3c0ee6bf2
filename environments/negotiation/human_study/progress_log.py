"""What somebody who takes part has done so far: JSON lines in a folder of their own, on the disk before it goes on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from apportion.environments.negotiation.human_study.survey import HIGH, LOW, QUIZ, SURVEY
from apportion.foundation.files import append_lines, canonical_json, take_lines

KEPT = "answers.jsonl"
MOST_WORDS = 4_000
"""Characters of an answer in words."""
BEGUN, CONSENTED, DECLINED, QUIZZED, PLAYED, ANSWERED, ENDED = (
    *("begun", "consented", "declined", "quiz", "played", "answer", "ended"),
)
"""What a line can say."""


@dataclass
class ParticipantSession:
    """What is known of one participant's sitting.

    ``tries`` has by question of the quiz how often it was answered until it was right; ``played`` the numbers of the
    games that are over; ``answers`` by game and question what was answered.
    """

    folder: Path
    participant: str
    study: str | None = None
    consented: bool | None = None
    tries: dict[int, int] = field(default_factory=dict)
    played: list[int] = field(default_factory=list)
    answers: dict[tuple[int, str], int | str] = field(default_factory=dict)
    ended: bool = False

    @classmethod
    def open(cls, folder: Path, participant: str, *, mend: bool = True) -> ParticipantSession:
        """Read what is there; a last line that a kill has cut off is dropped, and taken off the file to ``mend``.

        Raises InputError: A line that is none, by number.
        """
        sitting = cls(folder, participant)
        take_lines(folder / KEPT, sitting._take, mend=mend)
        return sitting

    def add(self, what: str, **said: Any) -> None:
        """Write down what was done; it is on the disk when this returns."""
        line = {"what": what, **said}
        self._take(line)
        self.folder.mkdir(parents=True, exist_ok=True)
        append_lines(self.folder / KEPT, [canonical_json(line)])

    def _take(self, line: dict[str, Any]) -> None:
        match line["what"]:
            case "begun":
                self.study = str(line["study"])
            case "consented":
                self.consented = True
            case "declined":
                self.consented = False
            case "quiz":
                self.tries[_in(line["question"], range(len(QUIZ)))] = int(line["tries"])
            case "played":
                self.played.append(int(line["game"]))
            case "answer":
                self.answers[int(line["game"]), str(line["question"])] = checked(str(line["question"]), line["answer"])
            case "ended":
                self.ended = True
            case other:
                raise ValueError(f"{other!r:.40} is nothing that is kept")


def checked(name: str, answer: object) -> int | str:
    """An answer to a question of the survey.

    Raises ValueError: There is no such question, or this is no answer to it.
    """
    question = next((one for one in SURVEY if one.name == name), None)
    if question is None:
        raise ValueError(f"no question is called {name!r:.40}")
    if question.scaled:
        if isinstance(answer, bool) or not isinstance(answer, int) or not LOW <= answer <= HIGH:
            raise ValueError(f"{answer!r:.40} is no whole number from {LOW} to {HIGH}")
        return answer
    if not isinstance(answer, str) or len(answer) > MOST_WORDS:
        raise ValueError(f"words of at most {MOST_WORDS:,} characters are needed")
    return answer


def sittings(folder: Path) -> Iterator[ParticipantSession]:
    """Everybody's sitting in the folder of a study, by id; nothing is changed.

    Raises InputError: As `ParticipantSession.open`.
    """
    for path in sorted(folder.glob(f"*/{KEPT}")):
        yield ParticipantSession.open(path.parent, path.parent.name, mend=False)


def _in(value: object, allowed: range) -> int:
    if not isinstance(value, int) or value not in allowed:
        raise ValueError(f"{value!r:.40} is none of {allowed.start} to {allowed.stop - 1}")
    return value
