"""Models and people who play with each other: Tables 3 and G.4 of SOTOPIA, and words a turn (section 7)."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from apportion.environments.report_tables.table import Cell, Table, mean
from apportion.environments.sotopia.reports.episode_scores import Seat, TaskId
from apportion.environments.sotopia.reports.judge_human_agreement import NOBODY
from apportion.environments.sotopia.reports.models import Score, Scores, with_test
from apportion.environments.sotopia.reports.raters import PEOPLE, WITH_PERSON, RatedEpisodes, titled
from apportion.foundation.intervals.resampling import Sampling

TABLE_3 = ("GOAL", "BEL", "REL", "KNO", "SEC", "SOC", "FIN")
TABLE_G4 = ("BEL", "REL", "KNO", "SEC", "SOC", "FIN", "GOAL")
HUMAN = "Human"


def table_3(rated: RatedEpisodes, sampling: Sampling, hard: Collection[TaskId] | None) -> Table:
    """A model with people, people with it, and people with people, by the judge; on hard tasks where these are told."""
    title = f"Table 3: people and models who play with people, {_on(hard)}, by judge {titled(rated.judge)}"
    return _with_people("table_3", title, TABLE_3, rated, rated.judged, sampling, hard)


def table_g4(rated: RatedEpisodes, sampling: Sampling, hard: Collection[TaskId] | None) -> Table:
    """The same by people."""
    title = f"Table G.4: people and models who play with people, {_on(hard)}, by people"
    if not rated.people:
        return Table("table_g4", title, absent=NOBODY, fill=PEOPLE)
    return _with_people("table_g4", title, TABLE_G4, rated, rated.human_score, sampling, hard)


def words_a_turn(rated: RatedEpisodes, sampling: Sampling) -> Table:
    """How many words who says at once."""
    title = "Words a turn (section 7)"
    spoken: dict[str, list[tuple[str, float]]] = {}
    acts: dict[str, int] = {}
    for seat in rated.seats:
        who = _who(seat, rated)
        spoken.setdefault(who, []).extend((seat.episode, float(words)) for words in seat.words)
        acts[who] = acts.get(who, 0) + seat.acts
    rows = tuple(
        (who, mean([episode for episode, _ in turns], [words for _, words in turns], sampling), len(turns), acts[who])
        for who, turns in sorted(spoken.items())
    )
    notes = ("words between blanks, of what is said; gestures, actions, silence and leaving are acts without words",)
    return Table("words_a_turn", title, ("Agent", "Words a turn", "Turns", "Acts"), rows, notes, decimals=1)


def _on(hard: Collection[TaskId] | None) -> str:
    return "on all tasks" if hard is None else "on hard tasks"


def _who(seat: Seat, rated: RatedEpisodes) -> str:
    if rated.played_by_people(seat):
        return HUMAN
    return seat.agent or "not told who"


def _with_people(
    key: str,
    title: str,
    dims: Sequence[str],
    rated: RatedEpisodes,
    score: Score,
    sampling: Sampling,
    hard: Collection[TaskId] | None,
) -> Table:
    groups = _groups(rated, hard)
    if not any(rated.played_by_people(seat) for seat in rated.seats):
        return Table(key, title, absent="no person plays in these episodes", fill=WITH_PERSON)
    if not groups:
        return Table(key, title, absent="no person plays one of the hard tasks", fill=f"{WITH_PERSON} --tasks FILE")
    models = [name for name, with_human in groups if name != HUMAN and with_human == HUMAN]
    rows: list[tuple[Cell, ...]] = []
    for who, partner in sorted(groups, key=lambda pair: (pair[0] == HUMAN, pair[1] == HUMAN, pair)):
        # People with people are held to the model that has played most with people.
        other = (partner, HUMAN) if partner != HUMAN else (_most(models, groups), HUMAN)
        cells: list[Cell] = []
        for dim in dims:
            ours = Scores.of(groups[who, partner], dim, score)
            figure = ours.mean(sampling)
            tested = who == HUMAN and other in groups
            cells.append(with_test(figure, ours, Scores.of(groups[other], dim, score)) if tested else figure)
        rows.append((f"{who} (w {partner})", *cells))
    notes = ["mean [95 % interval], n parts; (w X): plays with X"]
    if models:
        notes.append(
            f"* differs from the model (w {HUMAN}) by Student's t-test, p < 0.05; {HUMAN} (w {HUMAN}) is held to "
            f"{_most(models, groups)} (w {HUMAN})"
        )
    return Table(key, title, ("Who", *dims), tuple(rows), tuple(notes))


def _groups(rated: RatedEpisodes, hard: Collection[TaskId] | None) -> dict[tuple[str, str], list[Seat]]:
    """By who plays and with whom, where a person is one of them; of episodes of two."""
    episodes: dict[str, list[Seat]] = {}
    for seat in rated.seats:
        episodes.setdefault(seat.episode, []).append(seat)
    groups: dict[tuple[str, str], list[Seat]] = {}
    for seats in episodes.values():
        told_who = [_who(seat, rated) for seat in seats]
        if len(seats) != 2 or HUMAN not in told_who or (hard is not None and seats[0].task not in hard):
            continue
        for seat, partner in zip(seats, reversed(told_who), strict=True):
            groups.setdefault((_who(seat, rated), partner), []).append(seat)
    return groups


def _most(models: Sequence[str], groups: dict[tuple[str, str], list[Seat]]) -> str:
    return max(models, key=lambda model: (len(groups[model, HUMAN]), model), default="")
