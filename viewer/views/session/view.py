"""The page of a session: what is asked of it, and everything that it shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from apportion.corpus.session import Episode, EpisodeKey
from apportion.decompose.method import RubricMethod
from apportion.decompose.methods import METHODS
from apportion.decompose.prompt_building.rubric import paid_by
from apportion.foundation.html.text import clean, number, plain, signed
from apportion.foundation.svg import meter
from apportion.pipeline.report.sessions import what_it_equals
from apportion.viewer.data.session import SessionTables, episode_order
from apportion.viewer.views.session.axis import Axis, Overlap, axis_of, clock, lanes_of, overlaps_of
from apportion.viewer.views.session.people import Person, people_of, players_of
from apportion.viewer.views.session.turn_rewards import Series, margin_bar, reward_row, series_of

MOST_SERIES = 9
"""Series on one page, a key each."""
AT_FIRST = 5
"""Series that are drawn before a person asks for more."""
TEXT, NAME = 20_000, 120
FLAT = ("uniform",)
"""Methods that give every turn the same: not drawn at first where there are others."""


@dataclass(frozen=True)
class SessionQuery:
    """What an address asks of the page; anything unknown is as if it were not given.

    ``rating`` is the number of the episode, ``method`` the series in front, ``more`` the keys of series to be shown
    beside those that are there anyway, ``turn`` one whose evidence is shown, ``tracks`` whether behaviour is.
    """

    rating: int = 0
    method: str = ""
    more: tuple[str, ...] = ()
    turn: int | None = None
    tracks: bool = False


@dataclass(frozen=True)
class ShownSeries:
    """A series on the page: its key ``number`` from 1, whether it is drawn (``on``) and tints turns (``front``)."""

    number: int
    series: Series
    on: bool
    front: bool
    total: str
    equals: str
    exact: bool | None
    row: Markup


@dataclass(frozen=True, eq=False)
class Chosen:
    """An episode of a session with its series: what a page and the evidence of a turn are both made of."""

    keys: tuple[EpisodeKey, ...]
    number: int
    episode: Episode | None
    target: str | None
    series: tuple[Series, ...]
    people: Mapping[str, Person]


def choose(tables: SessionTables, rating: int, order: Sequence[str]) -> Chosen:
    """The episode with that number, the first where there is none; ``order`` is that of the methods."""
    session = tables.session
    rewarded = {(session.session_id, row["rater"], row["target"], row["name"]) for row in tables.rewards}
    rated = {episode.key: episode for episode in session.episodes()}
    keys = episode_order(session, rewarded)
    number = rating if 0 <= rating < len(keys) else 0
    key = keys[number] if keys else None
    target = key[2] if key else None
    return Chosen(
        keys, number, rated.get(key) if key else None, target, series_of(tables, key, order), people_of(session, target)
    )


def session_view(
    tables: SessionTables, chosen: Chosen, asked: SessionQuery, first: str, training_mean: float | None
) -> dict[str, Any]:
    """What the page shows.

    ``first``: the series in front where the address names none. ``training_mean``: the mean score of the training
    sessions, which sums are told against.
    """
    session, episode = tables.session, chosen.episode
    axis = axis_of(session)
    placed, others = _placed(chosen.series, asked, first)
    shown = tuple(_shown(n, s, on, front, axis, episode, training_mean) for n, (s, on, front) in enumerate(placed, 1))
    overlaps = overlaps_of(session, axis)
    return {
        "session_id": clean(session.session_id, NAME),
        "slug": tables.slug,
        "split": clean(tables.split or "", 20),
        "before": tables.before,
        "after": tables.after,
        "length": clock(axis.end) if axis.timed else "",
        "axis": axis,
        "people": tuple(chosen.people.values()),
        "ratings": _ratings(tables, chosen),
        "series": shown,
        "others": others,
        "turns": _turns(tables, chosen, shown, {overlap.turn: overlap for overlap in overlaps}),
        "lanes": lanes_of(session, axis, chosen.people),
        "overlaps": overlaps,
        "players": players_of(session, chosen.people),
        "backgrounds": tuple(
            {"kind": clean(b.kind, 30), "speaker": clean(b.speaker or "", 60), "text": clean(b.text, TEXT)}
            for b in session.backgrounds
        ),
        "failed": tuple(clean(f"{row['stage']}: {row['cause']}", 600) for row in tables.quarantine),
        "behaviour": axis.timed and bool(tables.utterance_features),
        "tracks": axis.timed and bool(tables.utterance_features or tables.events),
        "legend": _legend(shown),
    }


def _placed(
    series: Sequence[Series], asked: SessionQuery, first: str
) -> tuple[list[tuple[Series, bool, bool]], tuple[Series, ...]]:
    """Which series are on the page, in order, drawn or not, in front or not; and which are not on it."""
    keys = [one.key for one in series]
    front = next((key for key in (asked.method, first, *keys) if key in keys), "")
    wanted = {front, *asked.more}
    rank = {"method": 0, "people": 1, "computed": 2, "model": 3}
    by_rank = sorted(series, key=lambda one: (one.key not in wanted, rank[one.kind], keys.index(one.key)))
    kept = {one.key for one in by_rank[:MOST_SERIES]}
    telling = [one.key for one in series if one.kind == "method" and one.name not in FLAT] or keys
    people = [one.key for one in series if one.kind in ("people", "computed")]
    drawn = {front, *asked.more, *telling[:AT_FIRST], *people[:1]}
    on_page = sorted((one for one in series if one.key in kept), key=lambda one: (rank[one.kind], keys.index(one.key)))
    return (
        [(one, one.key in drawn, one.key == front) for one in on_page],
        tuple(one for one in series if one.key not in kept),
    )


def _shown(
    place: int, series: Series, on: bool, front: bool, axis: Axis, episode: Episode | None, mean: float | None
) -> ShownSeries:
    equals, exact = "", None
    if series.total is not None and series.kind == "method" and not series.own_scale and episode and episode.is_rated:
        equals, exact = what_it_equals(series.total, episode.score, mean, episode.rating.low)
    total = "" if series.total is None else signed(series.total)
    return ShownSeries(place, series, on, front, total, equals, exact, reward_row(series, axis, place))


def _legend(shown: Sequence[ShownSeries]) -> tuple[str, ...]:
    """What a bar's height and its lines mean."""
    notes = []
    shared = [one.series for one in shown if not one.series.own_scale]
    if shared:
        notes.append(f"full height: {number(shared[0].scale)}")
    if any(one.series.own_scale for one in shown):
        notes.append("labels and signals have a height of their own")
    worths = [worth for one in shown for worth in one.series.values.values()]
    kinds = {interval.kind for worth in worths for interval in worth.intervals if interval.drawn}
    notes += ["thick line: lowest to highest seed"] if "seeds" in kinds else []
    notes += ["thin line: one standard deviation of samples or heads"] if "samples" in kinds else []
    return tuple(notes)


def _turns(
    tables: SessionTables, chosen: Chosen, shown: Sequence[ShownSeries], over: Mapping[int, Overlap]
) -> tuple[dict[str, Any], ...]:
    front = next((one.series for one in shown if one.front), None)
    views = []
    for turn in tables.session.turns:
        cells = tuple(_cell(one, turn.turn) for one in shown if turn.turn in one.series.values)
        cut = over.get(turn.turn)
        timed = turn.start_s is not None and turn.end_s is not None
        views.append(
            {
                "turn": turn.turn,
                "person": chosen.people[turn.speaker],
                "text": clean(turn.text, TEXT),
                "time": clock(turn.start_s) if turn.start_s is not None else "",
                "start_s": f"{turn.start_s:g}" if timed else "",
                "end_s": f"{turn.end_s:g}" if timed else "",
                "target": turn.speaker == chosen.target,
                "level": front.level(turn.turn) if front else 0,
                "over": f"{cut.length_s:.1f} s over turn {cut.over}" if cut else "",
                "cells": cells,
                "signals": tuple(signal for one in shown for signal in _signals(one.series, turn.turn)),
            }
        )
    return tuple(views)


def _cell(shown: ShownSeries, turn: int) -> dict[str, Any]:
    series = shown.series
    return {
        "shown": shown,
        "text": signed(series.values[turn].reward),
        "level": series.level(turn),
        "bar": margin_bar(series, turn),
    }


def _signals(series: Series, turn: int) -> Iterator[dict[str, Any]]:
    """What paid a turn, by a method that judges by a rubric."""
    if series.kind == "method" and isinstance(METHODS.get(series.key), RubricMethod) and turn in series.values:
        for signal in paid_by(series.values[turn].rationale):
            name = clean(signal.id, NAME).replace("_", " ")
            yield {
                "text": f"{signal.value:+g} {name}".replace("-", "−", 1),
                "sign": signal.sign,
                "sentence": clean(signal.sentence, TEXT),
            }


def _ratings(tables: SessionTables, chosen: Chosen) -> tuple[dict[str, Any], ...]:
    rated = {episode.key: episode for episode in tables.session.episodes()}
    return tuple(_rating(n, key, rated.get(key), n == chosen.number) for n, key in enumerate(chosen.keys))


def _rating(place: int, key: EpisodeKey, episode: Episode | None, chosen: bool) -> dict[str, Any]:
    _, rater, target, name = (clean(part, 60) for part in key)
    alone = episode is not None and not episode.has_rater
    title = f"the environment scores {target}" if alone else f"{rater} rates {target}"
    if not name:  # Nobody gave a score (`apportion.corpus.targets`).
        title = f"turns of {target}"
    view = {"number": place, "title": title, "name": name, "chosen": chosen, "score": "", "scale": "", "drawing": None}
    if episode is not None and episode.is_rated:
        low, high = episode.rating.low, episode.rating.high
        view |= {"score": plain(episode.score), "scale": f"{plain(low)} to {plain(high)}"}
        view["drawing"] = meter(episode.score, low, high)
    return view
