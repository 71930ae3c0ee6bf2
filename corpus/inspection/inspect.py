"""A look at a corpus: counts, scores, and what is missing or odd."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from statistics import quantiles
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from apportion.corpus.account import AccountLine, account_lines, account_of
from apportion.corpus.annotators import is_computed
from apportion.corpus.checks.scores import outside_scale
from apportion.corpus.corpus import Corpus
from apportion.corpus.languages.settling import languages_found
from apportion.corpus.mean_std import mean, spread, total
from apportion.corpus.power import weak_ratings
from apportion.corpus.recordings.mirrored import named
from apportion.corpus.recordings.told import look, told_before
from apportion.corpus.session import Rating, Session
from apportion.corpus.validate import validate
from apportion.foundation.truncate import listed, some

MOST_STEPS = 10
EIGHTHS = " ▏▎▍▌▋▊▉"
BAR = 40


@dataclass(frozen=True)
class Bin:
    """Scores of ``low`` <= score < ``high`` (the last bin holds its upper end too)."""

    low: float
    high: float
    count: int


def histogram(scores: Sequence[float], low: float, high: float) -> tuple[Bin, ...]:
    """Bins around the whole numbers of a short scale (1 to 5), else ten equal ones; strays go to the end bins.

    ``scores`` (Sequence of float, shape (S,)): finite scores. ``low``, ``high``: the ends of the scale.
    """
    width = high - low
    if not 0 < width < math.inf:
        return (Bin(low, high, len(scores)),)
    if float(low).is_integer() and float(high).is_integer() and width <= MOST_STEPS:
        steps, start, step = int(width) + 1, low - 0.5, 1.0
    else:
        steps, start, step = MOST_STEPS, low, width / MOST_STEPS
    counts = [0] * steps
    for score in scores:
        counts[min(max(math.floor((score - start) / step), 0), steps - 1)] += 1
    return tuple(Bin(start + i * step, start + (i + 1) * step, count) for i, count in enumerate(counts))


def draw(bins: Sequence[Bin]) -> list[str]:
    """One line a bin: its middle, a bar to the scale of the largest bin, its count."""
    most = max((bin_.count for bin_ in bins), default=0) or 1
    labels = [f"{(bin_.low + bin_.high) / 2:g}" for bin_ in bins]
    width = max(map(len, labels), default=0)
    return [
        f"  {label:>{width}} {_bar(bin_.count / most)} {bin_.count:,}" for label, bin_ in zip(labels, bins, strict=True)
    ]


def _bar(share: float) -> str:
    eighths = math.ceil(share * BAR * 8)
    return ("█" * (eighths // 8) + EIGHTHS[eighths % 8]).strip().ljust(BAR)


EXAMPLES = 3


@dataclass(frozen=True)
class RatingSummary:
    """One rating's name: its scale, how many episodes and scores it has, and how the episodes' scores lie.

    ``off_scale`` scores lie outside of their scale: they are no part of any other figure.
    """

    name: str
    low: float
    high: float
    higher_is_better: bool
    episodes: int
    scores: int
    off_scale: int
    mean: float
    sd: float
    bins: tuple[Bin, ...]


@dataclass(frozen=True)
class LabelSummary:
    """One name of turn labels; ``off_scale`` of them lie outside of their scale and are no part of the mean.

    ``mean`` is None where no label has a value that counts; ``by`` is what computed them, None where people gave them.
    """

    name: str
    labels: int
    sessions: int
    off_scale: int
    mean: float | None
    by: str | None = None


@dataclass(frozen=True)
class Anomaly:
    """Something that is allowed and still worth a look, with the first few sessions that show it."""

    what: str
    sessions: int
    examples: tuple[str, ...]


@dataclass(frozen=True)
class Inspection:
    """Everything that `apportion inspect` tells. ``turn_quantiles``: least, 25 %, median, 75 %, most turns.

    ``recorded``: a line a person with recordings; ``chosen``: what their import had to choose among them.
    """

    corpus: str
    sessions: int
    rated_sessions: int
    utterances: int
    speakers: int
    duration_s: float | None
    sources: tuple[tuple[str, int], ...]
    languages: tuple[tuple[str, int], ...]
    turn_quantiles: tuple[float, ...]
    ratings: tuple[RatingSummary, ...]
    labels: tuple[LabelSummary, ...]
    recordings: tuple[tuple[str, int], ...]
    backgrounds: tuple[tuple[str, int], ...]
    problems: tuple[str, ...]
    warnings: tuple[str, ...]
    odd: tuple[Anomaly, ...]
    recorded: tuple[str, ...] = ()
    chosen: tuple[str, ...] = ()
    account: tuple[AccountLine, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The inspection as plain JSON values."""
        return {**asdict(self), "account": {line.what: line.to_json() for line in self.account}}


def inspect(corpus: Corpus) -> Inspection:
    """Count what ``corpus`` holds and look for what is wrong, missing or odd."""
    sessions = list(corpus.iter_sessions())
    problems = validate(corpus)
    told = told_before(corpus.root) or look(corpus)
    durations = [s.duration_s for s in sessions if s.duration_s is not None and math.isfinite(s.duration_s)]
    return Inspection(
        corpus=named(corpus.root),
        sessions=len(sessions),
        rated_sessions=sum(bool(session.ratings) for session in sessions),
        utterances=corpus.utterances.num_rows,
        speakers=len(set(corpus.utterances.column("speaker").to_pylist())),
        duration_s=total(durations) if durations else None,
        sources=_counted(session.source for session in sessions),
        languages=_counted(one.language for one in languages_found({one.session_id: one for one in sessions}).values()),
        turn_quantiles=_five_numbers([len(session.turns) for session in sessions]),
        ratings=_ratings(corpus),
        labels=_labels(corpus),
        recordings=_counted(corpus.media.column("kind").to_pylist()),
        backgrounds=_counted(corpus.backgrounds.column("kind").to_pylist()),
        problems=tuple(str(problem) for problem in problems if problem.severity == "error"),
        warnings=(
            *told.warnings,
            *(str(problem) for problem in problems if problem.severity == "warning"),
            *weak_ratings(corpus, problems),
        ),
        odd=tuple(_oddities(sessions)),
        recorded=tuple(map(str, told.people)),
        chosen=told.chosen,
        account=account_of(corpus.root),
    )


def _counted(values: Iterable[str | None]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(Counter(value or "not given" for value in values).items()))


def _five_numbers(values: Sequence[int]) -> tuple[float, ...]:
    middle = quantiles(values, n=4, method="inclusive") if len(values) > 1 else [values[0]] * 3
    return (min(values), *middle, max(values))


def _ratings(corpus: Corpus) -> tuple[RatingSummary, ...]:
    off_scale = outside_scale(corpus.ratings, "score")
    usable = corpus.ratings.filter(pc.invert(off_scale))
    rows = Counter(usable.column("name").to_pylist())
    strays = Counter(corpus.ratings.filter(off_scale).column("name").to_pylist())
    by_name: dict[str, list[Rating]] = defaultdict(list)
    kept = Corpus.of(corpus.root, {**corpus.tables, "ratings": usable})
    for rating in (rating for session in kept.iter_sessions() for rating in session.ratings):
        if rating.name is not None and all(map(math.isfinite, (rating.score, rating.low, rating.high))):
            by_name[rating.name].append(rating)
    return tuple(_rating(name, ratings, rows[name], strays[name]) for name, ratings in sorted(by_name.items()))


def _rating(name: str, ratings: Sequence[Rating], rows: int, off_scale: int) -> RatingSummary:
    scores = [rating.score for rating in ratings]
    low, high = min(rating.low for rating in ratings), max(rating.high for rating in ratings)
    return RatingSummary(
        name=name,
        low=low,
        high=high,
        higher_is_better=ratings[0].higher_is_better,
        episodes=len(scores),
        scores=rows,
        off_scale=off_scale,
        mean=mean(scores),
        sd=spread(scores),
        bins=histogram(scores, low, high),
    )


def _labels(corpus: Corpus) -> tuple[LabelSummary, ...]:
    annotators = corpus.turn_labels.column("annotator").to_pylist()
    computed = pa.array([by if is_computed(by) else None for by in annotators], pa.string())
    table = corpus.turn_labels.append_column("by", computed)
    off_scale = outside_scale(table, "value")
    strays = Counter((row["name"], row["by"]) for row in table.filter(off_scale).select(["name", "by"]).to_pylist())
    groups = table.filter(pc.invert(off_scale)).group_by(["name", "by"], use_threads=False)
    counts = groups.aggregate([("value", "count"), ("session_id", "count_distinct"), ("value", "mean")])
    return tuple(
        LabelSummary(
            row["name"],
            row["value_count"],
            row["session_id_count_distinct"],
            strays[row["name"], row["by"]],
            row["value_mean"],
            row["by"],
        )
        for row in sorted(counts.to_pylist(), key=lambda row: (str(row["name"]), row["by"] or ""))
    )


def _by(annotator: str | None) -> str:
    return "" if annotator is None else f" ({annotator}, nobody judged them)"


def _oddities(sessions: Sequence[Session]) -> Iterable[Anomaly]:
    for what, is_so in ODD.items():
        session_ids = [session.session_id for session in sessions if is_so(session)]
        if session_ids:
            yield Anomaly(what, len(session_ids), tuple(session_ids[:EXAMPLES]))


def _no_target_turns(session: Session) -> bool:
    return any(not episode.target_positions for episode in session.episodes())


def _no_reply(session: Session) -> bool:
    return any(
        episode.target_positions and not any(map(episode.reply_positions, episode.target_positions))
        for episode in session.episodes()
    )


def _one_turn_to_credit(session: Session) -> bool:
    return any(len(episode.target_positions) == 1 for episode in session.episodes())


def _empty_text(session: Session) -> bool:
    return any(not (turn.text or "").strip() for turn in session.turns)


ODD: dict[str, Callable[[Session], bool]] = {
    "no rating": lambda session: not session.ratings,
    "the target says nothing": _no_target_turns,
    "the rater never answers the target": _no_reply,
    "only one turn to credit": _one_turn_to_credit,
    "only one turn": lambda session: len(session.turns) == 1,
    "a turn without text": _empty_text,
}


def render(inspection: Inspection, where: str = "") -> str:
    """The inspection as plain text, with a histogram of block characters for every rating.

    Of many problems the first few are shown; ``where`` says where all are.
    """
    i = inspection
    least, q1, median, q3, most = i.turn_quantiles
    lines = [
        f"{i.corpus}: {i.sessions:,} sessions ({i.rated_sessions:,} rated), {i.utterances:,} utterances, "
        f"{i.speakers:,} speakers",
        f"turns a session: {least:g} to {most:g}, median {median:g} (half of them {q1:g} to {q3:g})",
        f"source: {_listed(i.sources)}; language: {_listed(i.languages)}",
    ]
    if i.duration_s is not None:
        lines.append(f"recorded: {i.duration_s / 3600:.2f} h; {_listed(i.recordings)}")
    if i.backgrounds:
        lines.append(f"known before the first turn: {_listed(i.backgrounds)}")
    for rating in i.ratings:
        good = "" if rating.higher_is_better else ", low is good"
        lines += [
            "",
            f"{rating.name}: {rating.low:g} to {rating.high:g}{good}; {rating.episodes:,} episodes, "
            f"{rating.scores:,} scores{_strays(rating.off_scale)}; mean {rating.mean:.2f}, sd {rating.sd:.2f}",
            *draw(rating.bins),
        ]
    lines += [""] * bool(i.labels)
    lines += [
        f"turn labels {label.name!r}{_by(label.by)}: {label.labels:,} on {label.sessions:,} sessions"
        + _strays(label.off_scale)
        + ("" if label.mean is None else f", mean {label.mean:.2f}")
        for label in i.labels
    ]
    lines += [""] * bool(i.account) + account_lines(i.account)
    lines += [""] * bool(i.recorded)
    lines += some("recorded", i.recorded, where=where) + some("chosen", i.chosen, where=where)
    findings = [
        *some("problem", i.problems, where=where),
        *some("warning", i.warnings, where=where),
        *(
            f"odd: {odd.what}: {odd.sessions:,} sessions ({', '.join(odd.examples)}{', …' * (odd.sessions > EXAMPLES)})"
            for odd in i.odd
        ),
    ]
    return "\n".join([*lines, "", *(findings or ["nothing is wrong or odd"])])


def _strays(many: int) -> str:
    return f" ({many:,} off the scale {'is' if many == 1 else 'are'} left out of all figures)" if many else ""


def _listed(counts: Sequence[tuple[str, int]], most: int = 5) -> str:
    return listed([f"{name} {many:,}" for name, many in counts], most) or "none"
