"""Who has which items, and what comes next for whom; all within a transaction of the caller."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, func, insert, select, union, update

from apportion.study.design.folder import StudyFolder
from apportion.study.design.randomization import items_for, with_checks
from apportion.study.store.database import ANNOTATORS, ANSWERS, ASSIGNMENTS, STUDY
from apportion.study.store.rows import Assignment

_UNANSWERED = (
    select(ASSIGNMENTS.c.annotator, ASSIGNMENTS.c.item)
    .outerjoin(ANSWERS, (ANSWERS.c.annotator == ASSIGNMENTS.c.annotator) & (ANSWERS.c.item == ASSIGNMENTS.c.item))
    .where(ANSWERS.c.item.is_(None), ~ASSIGNMENTS.c.released)
)
HOUR_S = 3_600.0


def draw_items(connection: Connection, study: StudyFolder, annotator: str, now: float) -> tuple[str, ...]:
    """Give an annotator items, and the checks among them; none where no item is short of people."""
    connection.execute(select(STUDY).with_for_update())  # One draw after the other; SQLite has one writer anyway.
    settings = study.settings
    load = _load(connection, study, now)
    own = items_for(annotator, settings.seed, load, settings.annotators_per_item, settings.items_per_annotator)
    items = [study.items[name] for name in own]
    sequence = with_checks(annotator, settings.seed, items, study.check_items, settings.checks_every)
    if sequence:
        rows = [{"annotator": annotator, "item": item, "place": place} for place, item in enumerate(sequence)]
        connection.execute(insert(ASSIGNMENTS), rows)
    return sequence


def is_away(study: StudyFolder, active_at: float, now: float) -> bool:
    """Whether somebody who answered last at ``active_at`` (seconds since 1970) has been away for too long."""
    return active_at <= now - study.settings.abandoned_after_hours * HOUR_S


def give_back(connection: Connection, study: StudyFolder, annotator: str, now: float) -> None:
    """Release what others have taken over while somebody was away; the caller notes that they are there."""
    connection.execute(select(STUDY).with_for_update())
    load = _load(connection, study, now)
    pending = connection.execute(_UNANSWERED.where(ASSIGNMENTS.c.annotator == annotator)).all()
    taken = [row.item for row in pending if load.get(row.item, 0) >= study.settings.annotators_per_item]
    connection.execute(
        update(ASSIGNMENTS)
        .where(ASSIGNMENTS.c.annotator == annotator, ASSIGNMENTS.c.item.in_(taken))
        .values(released=True)
    )


def touch(connection: Connection, annotator: str, now: float, **values: Any) -> None:
    """Note that an annotator is there, and whatever else is to be noted."""
    connection.execute(update(ANNOTATORS).where(ANNOTATORS.c.id == annotator).values(active_at=now, **values))


def own_items(connection: Connection, study: StudyFolder, annotator: str) -> tuple[str, ...]:
    """Practice and the items that follow it, in their order."""
    drawn = connection.execute(
        select(ASSIGNMENTS.c.item)
        .where(ASSIGNMENTS.c.annotator == annotator, ~ASSIGNMENTS.c.released)
        .order_by(ASSIGNMENTS.c.place)
    ).scalars()
    return (*study.settings.practice, *drawn)


def answered(connection: Connection, annotator: str) -> set[str]:
    """The items that an annotator has answered."""
    return set(connection.execute(select(ANSWERS.c.item).where(ANSWERS.c.annotator == annotator)).scalars())


def next_of(connection: Connection, study: StudyFolder, annotator: str) -> Assignment:
    """The first item without an answer, or the end."""
    done, own = answered(connection, annotator), own_items(connection, study, annotator)
    practice = len(study.settings.practice)
    for place, item in enumerate(own):
        if item in done:
            continue
        if place < practice:
            return Assignment("practice", item, place + 1, practice)
        return Assignment("item", item, place - practice + 1, len(own) - practice)
    return Assignment("done", None, len(own) - practice, len(own) - practice)


def _load(connection: Connection, study: StudyFolder, now: float) -> Mapping[str, int]:
    """By item that counts, how many people have answered it, or have it and are still there."""
    since = now - study.settings.abandoned_after_hours * HOUR_S
    there = _UNANSWERED.join(ANNOTATORS, ANNOTATORS.c.id == ASSIGNMENTS.c.annotator)
    # One statement: between two of them an item could be answered, and be counted by neither.
    people = union(select(ANSWERS.c.annotator, ANSWERS.c.item), there.where(ANNOTATORS.c.active_at > since)).subquery()
    found = connection.execute(select(people.c.item, func.count()).group_by(people.c.item)).all()
    load = dict(map(tuple, found))
    return {item.item: load.get(item.item, 0) for item in study.counted}
