"""A form for people about strategy and credit: how strategic somebody was, and whose rewards are the fairer (Figure 9).

After SAVOIR's appendix F: strategicness from 1 to 5, and of two unnamed ways of credit which is fairer to the acts,
and which sees better what lays the ground for what comes.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from apportion.corpus.files.csvfile import BLANK, inert, original, read_table
from apportion.corpus.files.textfile import BOM
from apportion.corpus.session import Session
from apportion.environments.sotopia.evaluation.human_ratings.sheet import sign_of
from apportion.environments.terminal.console import printable
from apportion.foundation.errors import InputError, UnitError
from apportion.foundation.files import digest
from apportion.foundation.truncate import listed

STRATEGICNESS, FAIRNESS, FOUNDATION = "strategicness", "credit fairness", "future foundation"
QUESTIONS = {
    STRATEGICNESS: "How strategically does this person act to reach the goal? 5: as an expert, with several means that "
    "work together; 4: a clear plan that works; 3: a plan, badly carried out; 2: mostly reacts; 1: no plan, or against "
    "the goal",
    FAIRNESS: "Which credit gives more to the utterances that truly bring the goal nearer, and less to the others?",
    FOUNDATION: "Which credit sees better what lays the ground for what comes later?",
}
ANSWERS = {STRATEGICNESS: ("1", "2", "3", "4", "5"), FAIRNESS: ("A", "B", "tie"), FOUNDATION: ("A", "B", "tie")}
COLUMNS = ("session", "person", "question", "meaning", "allowed", "answer")
_MOST_TOLD = 10

Rewards = Mapping[tuple[str, str], Mapping[int, float]]
"""By session and person the reward of each of the person's turns."""


@dataclass(frozen=True)
class Answered:
    """One answer: of whom, to what; a preference is the name of a way of credit, or ``tie``."""

    annotator: str
    session: str
    person: str
    question: str
    answer: str


@dataclass(frozen=True)
class CreditStudy:
    """What people are asked about.

    ``rewards``: Two ways of credit by name, each the rewards of turns; who has rewards by both is asked about.
    ``seed``: Decides in each case which of the two is called A. Raises InputError: Not two ways of credit, or nobody
    who has rewards by both.
    """

    sessions: Sequence[Session]
    rewards: Mapping[str, Rewards]
    seed: int = 0

    def __post_init__(self) -> None:
        if len(self.rewards) != 2:
            raise InputError(f"{len(self.rewards)} ways of credit ({', '.join(self.rewards)}); two are compared")
        if not self.cases:
            raise InputError(f"nobody has rewards by both of {' and '.join(self.rewards)} in these sessions")

    @property
    def cases(self) -> list[tuple[Session, str]]:
        """Who is asked about, in the order of the sessions and of first acts."""
        one, other = self.rewards.values()
        return [
            (session, name)
            for session in self.sessions
            for name in dict.fromkeys(turn.speaker for turn in session.turns)
            if (session.session_id, name) in one and (session.session_id, name) in other
        ]

    def lettered(self, session: str, person: str) -> dict[str, str]:
        """By letter the way of credit that it stands for in one case."""
        names = sorted(self.rewards)
        if int(digest([self.seed, session, person])[:8], 16) % 2:
            names.reverse()
        return dict(zip("AB", names, strict=True))

    def form(self) -> str:
        """The blank form as CSV; no name of a session, a way of credit or a formula is in it."""
        text = io.StringIO(newline="")
        rows = csv.writer(text, lineterminator="\r\n")
        rows.writerow(COLUMNS)
        for session, name in self.cases:
            for question, meaning in QUESTIONS.items():
                place = (sign_of(session.session_id), inert(name), question)
                rows.writerow((*place, meaning, " / ".join(ANSWERS[question]), ""))
        return BOM + text.getvalue()

    def reading(self) -> str:
        """What is read beside the form: each episode, and under each person's acts what A and B give them, 0 to 10."""
        parts = []
        for session, name in self.cases:
            letters = self.lettered(session.session_id, name)
            given = {one: _scaled(self.rewards[way][session.session_id, name]) for one, way in letters.items()}
            lines = [f"{sign_of(session.session_id)}: {printable(name)}"]
            for known in session.backgrounds:
                if known.speaker is None or (known.speaker == name and known.kind == "goal"):
                    lines.append(f"  {known.kind}: {printable(known.text)}")
            for turn in session.turns:
                lines.append(f"  {printable(turn.speaker)}: {printable(turn.text)}")
                if turn.turn in given["A"]:
                    lines.append("    " + ", ".join(f"{one} {values[turn.turn]:.1f}" for one, values in given.items()))
            parts.append("\n".join(lines))
        return "\n\n".join(parts) + "\n"

    def read(self, path: Path, annotator: str) -> list[Answered]:
        """What an annotator has filled in; rows without an answer are passed over.

        Raises InputError: The file cannot be read, lacks a column, or has rows that cannot be used: then nothing is
        taken.
        """
        signs = {sign_of(session.session_id): session.session_id for session, _ in self.cases}
        people = {(session.session_id, name) for session, name in self.cases}
        found: dict[tuple[str, str, str], Answered] = {}
        problems: list[str] = []
        try:
            table = read_table(path, path.name, COLUMNS)
            places = {column: table.position(column) for column in ("session", "person", "question", "answer")}
            for line, cells in table.rows:
                row = {column: cells[place].strip() for column, place in places.items()}
                if row["answer"].casefold() in BLANK:
                    continue
                session, person = signs.get(row["session"], ""), original(row["person"])
                key = (session, person, row["question"])
                problem = _problem(row, (session, person) in people, key in found)
                if problem:
                    problems.append(f"line {line}: {problem}")
                    continue
                answer = self.lettered(session, person).get(row["answer"], row["answer"])
                found[key] = Answered(annotator, *key, answer)
        except UnitError as error:
            raise InputError(str(error)) from None
        if problems:
            told = listed(problems, _MOST_TOLD, separator="\n  ", apart=True)
            raise InputError(f"{path}: {len(problems):,} of its rows cannot be used, so nothing was taken:\n  {told}")
        return list(found.values())


def rewards_in(path: Path, methods: Sequence[str]) -> dict[str, dict[tuple[str, str], dict[int, float]]]:
    """The rewards of these methods in a table of a run (`rewards`, `scores`); of several seeds and ratings the mean.

    Raises InputError: the file cannot be read as such a table, or has no rewards by one of the methods.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        rows = pq.read_table(path, columns=["session_id", "target", "turn", "method", "reward"]).to_pylist()
    except (OSError, pa.ArrowException, ValueError) as error:
        raise InputError(
            f"{path}: cannot be read as a table of rewards ({error}). Name rewards.parquet of a run."
        ) from None
    sums: dict[tuple[str, str, str, int], list[float]] = {}
    for row in rows:
        key = (row["method"], row["session_id"], row["target"], row["turn"])
        sums.setdefault(key, []).append(row["reward"])
    found: dict[str, dict[tuple[str, str], dict[int, float]]] = {method: {} for method in methods}
    for (method, session, target, turn), given in sums.items():
        if method in found:
            found[method].setdefault((session, target), {})[turn] = sum(given) / len(given)
    for method, given_to in found.items():
        if not given_to:
            there = listed(sorted({key[0] for key in sums}))
            raise InputError(f"{path}: no rewards by {method!r}; there are {there}")
    return found


def _problem(row: Mapping[str, str], known: bool, twice: bool) -> str | None:
    if row["question"] not in QUESTIONS:
        return f"no question {row['question']!r}; there are {', '.join(QUESTIONS)}"
    if not known:
        return f"nobody is asked about as {row['person']!r} in {row['session']!r}; keep these columns as they are"
    if row["answer"] not in ANSWERS[row["question"]]:
        return f"{row['question']} has {row['answer']!r}; allowed are {', '.join(ANSWERS[row['question']])}"
    return f"{row['question']} of {row['person']!r} is there twice; keep one" if twice else None


def _scaled(rewards: Mapping[int, float]) -> dict[int, float]:
    """From 0 to 10, so that no scale tells which way of credit it is; all 5 where they are equal."""
    low, high = min(rewards.values()), max(rewards.values())
    return {turn: 5.0 if high == low else 10 * (value - low) / (high - low) for turn, value in rewards.items()}
