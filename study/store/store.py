"""The answers to one study: all that pages and reports call."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Connection, Row, delete, func, insert, select, update

from apportion.foundation.errors import InputError
from apportion.foundation.files import canonical_json
from apportion.study.design.answers import checked
from apportion.study.design.folder import ANSWERS as DEFAULT_FILE
from apportion.study.design.folder import StudyFolder
from apportion.study.rows import AnswerRow, is_reserved
from apportion.study.store.assignments import answered, draw_items, give_back, is_away, next_of, own_items, touch
from apportion.study.store.database import Database
from apportion.study.store.links import TOKEN, Link, hashed, new_token
from apportion.study.store.rows import (
    ANNOTATOR,
    Annotator,
    Answer,
    Assignment,
    FullError,
    NoSuchLinkError,
    NotTheirsError,
    StaleError,
    StudyChangedError,
    StudyStoreError,
)
from apportion.study.store.schema import ANNOTATORS, ANSWERS, ASSIGNMENTS, STUDY

MOST_NONCE, MOST_SECONDS, MOST_FOCUS = 64, 86_400.0, 10_000
Clock = Callable[[], float]
_Person = Row[tuple[str, str, bool, bool, bool, bool, float]]
"""A row of the annotators' table."""


class Store:
    """Who answered what in one study; safe to be used by several threads and processes at once.

    Every method that changes something has it on the disk when it returns, and may be called again where it did not
    return. All of them raise `DatabaseAwayError` where the database cannot be reached.
    """

    def __init__(
        self, study: StudyFolder, database: Database, clock: Clock = time.time, *, simulated: bool = False
    ) -> None:
        self.study = study
        self._simulated = simulated
        self._database = database
        self._now = clock

    @classmethod
    def open(
        cls, place: str | Path | None, study: StudyFolder, clock: Clock = time.time, *, reading: bool = False,
        simulated: bool = False,
    ) -> Store:  # fmt: skip
        """Open the answers to a study: in a file (SQLite), at an URL of PostgreSQL, or beside the study.

        ``reading``: what is there is looked at, by a report say, and nothing of it is dropped. Else a study that was
        changed before the first answer takes the database, and who had begun begins again. ``simulated``: the public
        link lets in simulated annotators under their own ids, which nobody else may take.

        Raises
        ------
        InputError
            It cannot be opened; it has answers to another study, or to this one before it was changed.
        """
        database = Database(study.path / DEFAULT_FILE if place is None else place)
        store = cls(study, database, clock, simulated=simulated)
        try:
            with database.writing() as connection:
                store._claim(connection, reading=reading)
        except BaseException:
            database.close()
            raise
        return store

    def close(self) -> None:
        """Close the connections to the database."""
        self._database.close()

    def add_links(self, number: int) -> tuple[Link, ...]:
        """New annotators, and the links that let them in; tokens are told this once."""
        with self._database.writing() as connection:
            return tuple(self._new(connection, None, None, public=False) for _ in range(number))

    def enter(self, token: str) -> Annotator:
        """Whose link it is.

        Raises
        ------
        NoSuchLinkError
            Nobody's.
        """
        with self._database.reading() as connection:
            row = _by_token(connection, token)
        if row is None:
            raise NoSuchLinkError("this link lets nobody in. Copy all of it from the message that it came in.")
        return Annotator(row.id, row.consented, row.instructed, row.finished)

    def enter_public(self, platform_id: str | None = None, token: str | None = None, *, agreed: bool = False) -> Link:
        """Let somebody in by the public link; they get a link of their own, by which alone they come back.

        ``agreed``: they agree to take part, and their items are drawn; nothing is kept of whom there is no item for.

        Parameters
        ----------
        platform_id : str, optional
            The id that a platform has for them, which becomes theirs; else the next free one does.
        token : str, optional
            That of their link, as `links.new_token` gives it, where a page has drawn it before it asks: asked again,
            it lets the same person in once.

        Raises
        ------
        StudyStoreError
            Somebody with that id is there already.
        FullError
            The study has no public link, or it has let in as many as it may; every item has the people it needs.
        InputError
            What the platform gives is no id, or the token none.
        """
        settings = self.study.settings
        if not settings.public:
            raise FullError("this study has no public link; everybody has a link of their own.")
        if platform_id is not None and not ANNOTATOR.fullmatch(platform_id):
            raise InputError(f"{platform_id!r:.80}: an id has 1 to 64 letters, digits, - or _.")
        if platform_id is not None and is_reserved(platform_id) and not self._simulated:
            raise InputError(f"{platform_id!r:.80}: an id of a platform does not begin so. Open its link again.")
        if token is not None and not TOKEN.fullmatch(token):
            raise InputError("the link's token is none: 32 letters, digits, - or _ are needed. Open the page again.")
        with self._database.writing() as connection:
            connection.execute(select(STUDY).with_for_update())
            if token is not None and (before := _by_token(connection, token)) is not None:
                return Link(before.id, token)
            if platform_id is not None and _is_there(connection, platform_id):
                raise StudyStoreError(
                    f"{platform_id} has begun already. Go on in the browser that it was begun in: it knows the link."
                )
            inside = connection.execute(select(func.count()).where(ANNOTATORS.c.public)).scalar_one()
            if inside >= settings.public_limit:
                raise FullError("the study has as many people as it needs. Thank you for coming.")
            link = self._new(connection, platform_id, token, public=True)
            if agreed:
                self._draw(connection, link.annotator)
            return link

    def agree(self, annotator: str) -> None:
        """Note that somebody agreed to take part, and draw their items; agreeing again changes nothing.

        Raises
        ------
        FullError
            Every item has the people it needs; nothing is noted.
        """
        with self._database.writing() as connection:
            row = _locked(connection, annotator)
            if row.consented:
                return
            self._draw(connection, annotator)

    def read_instructions(self, annotator: str) -> None:
        """Note that somebody has read the instructions."""
        with self._database.writing() as connection:
            row = _locked(connection, annotator)
            self._note_presence(connection, row)
            touch(connection, row.id, self._now(), instructed=True)

    def next_place(self, annotator: str) -> Assignment:
        """Where somebody goes on.

        Who comes back after longer than the study waits goes on with what nobody else has taken over.
        """
        with self._database.reading() as connection:
            row = _row(connection, annotator)
            if not row.consented:
                return Assignment("consent")
            if not row.instructed:
                return Assignment("instructions")
            if not is_away(self.study, row.active_at, self._now()):
                return next_of(connection, self.study, annotator)
        with self._database.writing() as connection:
            self._note_presence(connection, _locked(connection, annotator))
            return next_of(connection, self.study, annotator)

    def places(self, annotator: str) -> tuple[str, ...]:
        """An annotator's items in their order: practice first, checks among the others."""
        with self._database.reading() as connection:
            return own_items(connection, self.study, annotator)

    def answer_of(self, annotator: str, item: str) -> AnswerRow | None:
        """What somebody has answered on an item; None where they have not."""
        with self._database.reading() as connection:
            row = _answer(connection, annotator, item)
            return None if row is None else _read(row)

    def save(self, annotator: str, item: str, answer: Answer, revision: int, nonce: str) -> AnswerRow:
        """Keep an answer; once it is returned, no kill and no power cut takes it away.

        Parameters
        ----------
        annotator, item : str
            Who answers, on what.
        answer : Answer
            To all criteria that are required, and the reason.
        revision : int
            That of the answer which the page showed; 0 where there was none.
        nonce : str
            Of the page: the same again is the same answer sent twice, and changes nothing.

        Raises
        ------
        InputError
            No such answer to these criteria; the annotator has finished.
        NotTheirsError
            The annotator does not have this item.
        StaleError
            There is another answer than the page showed.
        """
        if not 0 < len(nonce) <= MOST_NONCE:
            raise InputError(f"the page's number has {len(nonce)} characters; 1 to {MOST_NONCE} are needed.")
        with self._database.writing() as connection:
            person = _locked(connection, annotator)
            if not person.consented or item not in own_items(connection, self.study, annotator):
                raise NotTheirsError(f"item {item!r:.40} is none of {annotator}'s. Go on where the link leads.")
            kept, reason = checked(self.study.criteria, self.study.items[item], answer.answers, answer.reason)
            before = _answer(connection, annotator, item)
            if before is not None and before.nonce == nonce:
                return _read(before)
            if person.finished:
                raise InputError(f"{annotator} has finished; answers are changed no more.")
            if revision != (0 if before is None else before.revision):
                raise StaleError(
                    f"item {item}: the answer was given in another tab or window. Open it again to see it.",
                    None if before is None else _read(before),
                )
            self._check_claim(connection)
            row = {
                "annotator": annotator,
                "item": item,
                "answers": canonical_json(kept),
                "reason": reason,
                "seconds": _within(answer.seconds, MOST_SECONDS) + (before.seconds if before is not None else 0.0),
                "focus_lost": int(_within(answer.focus_lost, MOST_FOCUS)) + (before.focus_lost if before else 0),
                "revision": revision + 1,
                "at": datetime.fromtimestamp(self._now(), UTC).isoformat(timespec="seconds"),
                "nonce": nonce,
            }
            _write(connection, row, is_new=before is None)
            self._note_presence(connection, person)
        return AnswerRow(**{**{name: row[name] for name in row if name != "nonce"}, "answers": kept})  # type: ignore[arg-type]

    def finish(self, annotator: str) -> str:
        """Note that somebody has answered all of it; the code to show them.

        Raises
        ------
        InputError
            Something is left to answer.
        """
        with self._database.writing() as connection:
            row = _locked(connection, annotator)
            left = set(own_items(connection, self.study, annotator)) - answered(connection, annotator)
            if left or not row.consented:
                raise InputError(f"{annotator} has {len(left)} items left to answer.")
            touch(connection, annotator, self._now(), finished=True)
        return self.study.settings.completion

    def answers(self) -> list[AnswerRow]:
        """Everybody's answers to everything, practice and checks as well, by annotator and item."""
        with self._database.reading() as connection:
            rows = connection.execute(select(ANSWERS).order_by(ANSWERS.c.annotator, ANSWERS.c.item)).all()
        return [_read(row) for row in rows]

    def annotators(self) -> tuple[Annotator, ...]:
        """Everybody who has a link, by id."""
        with self._database.reading() as connection:
            rows = connection.execute(select(ANNOTATORS).order_by(ANNOTATORS.c.id)).all()
        return tuple(Annotator(row.id, row.consented, row.instructed, row.finished) for row in rows)

    def _draw(self, connection: Connection, annotator: str) -> None:
        """Draw the items of somebody who agrees to take part; `FullError` where none is left."""
        if not draw_items(connection, self.study, annotator, self._now()):
            raise FullError("the study has all the answers that it needs. Thank you for coming.")
        touch(connection, annotator, self._now(), consented=True)

    def _note_presence(self, connection: Connection, row: _Person) -> None:
        """Note that somebody is there; who was away goes on without what others have taken over."""
        if row.consented and is_away(self.study, row.active_at, self._now()):
            give_back(connection, self.study, row.id, self._now())
        touch(connection, row.id, self._now())

    def _claim(self, connection: Connection, *, reading: bool) -> None:
        """Take the database for this study; what was drawn for an earlier form of it, without an answer, is dropped."""
        row = connection.execute(select(STUDY).with_for_update()).first()
        mine = {"digest": self.study.digest, "version": self.study.settings.version}
        if row is None:
            connection.execute(insert(STUDY).values(number=1, **mine))
        elif row.digest != self.study.digest:
            if connection.execute(select(func.count()).select_from(ANSWERS)).scalar_one():
                raise self._other(row)
            if reading:
                return
            connection.execute(delete(ASSIGNMENTS))
            connection.execute(update(ANNOTATORS).values(consented=False, instructed=False))
            connection.execute(update(STUDY).values(**mine))

    def _check_claim(self, connection: Connection) -> None:
        row = connection.execute(select(STUDY)).one()
        if row.digest != self.study.digest:
            raise self._other(row)

    def _other(self, row: Row[tuple[int, str, int]]) -> StudyChangedError:
        return StudyChangedError(
            f"{self._database.name}: answers to version {row.version} of a study, {row.digest[:12]}…, and "
            f"{self.study.path} is version {self.study.settings.version}, {self.study.digest[:12]}…: it was changed "
            f"after the first answer. Undo the change, or make a new version, which has answers of its own: `apportion "
            f"study init --from {self.study.path} NEW`."
        )

    def _new(self, connection: Connection, name: str | None, token: str | None, *, public: bool) -> Link:
        if name is None:
            number = connection.execute(select(func.count()).select_from(ANNOTATORS)).scalar_one() + 1
            while _is_there(connection, f"a{number:03d}"):  # A platform's id may look like ours.
                number += 1
            name = f"a{number:03d}"
        token = token or new_token()
        connection.execute(insert(ANNOTATORS).values(id=name, link=hashed(token), public=public))
        return Link(name, token)


def _is_there(connection: Connection, annotator: str) -> bool:
    return connection.execute(select(ANNOTATORS.c.id).where(ANNOTATORS.c.id == annotator)).first() is not None


def _by_token(connection: Connection, token: str) -> _Person | None:
    return connection.execute(select(ANNOTATORS).where(ANNOTATORS.c.link == hashed(token))).first()


def _row(connection: Connection, annotator: str, *, lock: bool = False) -> _Person:
    mine = select(ANNOTATORS).where(ANNOTATORS.c.id == annotator)
    row = connection.execute(mine.with_for_update() if lock else mine).first()
    if row is None:
        raise NoSuchLinkError(f"no annotator {annotator!r:.80}.")
    return row


def _locked(connection: Connection, annotator: str) -> _Person:
    """An annotator's row, which nobody else changes until this transaction ends."""
    return _row(connection, annotator, lock=True)


def _answer(connection: Connection, annotator: str, item: str) -> Row[tuple[str, ...]] | None:
    return connection.execute(select(ANSWERS).where(ANSWERS.c.annotator == annotator, ANSWERS.c.item == item)).first()


def _write(connection: Connection, row: dict[str, object], *, is_new: bool) -> None:
    if is_new:
        connection.execute(insert(ANSWERS).values(**row))
        return
    mine = (ANSWERS.c.annotator == row["annotator"]) & (ANSWERS.c.item == row["item"])
    connection.execute(update(ANSWERS).where(mine).values(**row))


def _read(row: Row[tuple[str, ...]]) -> AnswerRow:
    values = {name: value for name, value in row._mapping.items() if name != "nonce"}
    return AnswerRow(**{**values, "answers": json.loads(row.answers)})


def _within(value: float, most: float) -> float:
    """A figure that a page tells, which may tell anything."""
    return min(max(value, 0.0), most) if value == value else 0.0
