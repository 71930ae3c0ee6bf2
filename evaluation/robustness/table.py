"""The audit's result as rows of text: for the terminal, Markdown and the report."""

from __future__ import annotations

from dataclasses import dataclass

from apportion.evaluation.confidence_intervals.figure import Estimate
from apportion.evaluation.robustness.rank_stability import FEWEST_TURNS, Row, Stability
from apportion.foundation.tables.columns import padded
from apportion.foundation.tables.numbers import NO_FIGURE

HEADER = (
    "question",
    "correlation with the clean order",
    "less the paraphrase's",
    "planted turn: places up",
    "planted turn: judgement",
    "planted turn on top",
    "scores",
    "failed",
)


@dataclass(frozen=True)
class StabilityTable:
    """A header, rows of as many cells, what the table says in one sentence, and how to read it."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    verdict: str
    notes: tuple[str, ...]

    def markdown(self) -> str:
        """Markdown that reads well in a terminal, too."""
        header, *rows = padded([self.header, *self.rows])
        ruled = "|".join(["", *("-" * (len(cell) + 2) for cell in header), ""])
        first, *texts = (f"| {' | '.join(cells)} |" for cells in (header, *rows))
        return "\n".join([first, ruled, *texts, "", self.verdict, "", *(f"- {note}" for note in self.notes)])


def stability_table(result: Stability, notes: tuple[str, ...] = ()) -> StabilityTable:
    """``result`` in words and figures; ``notes`` go before those on how to read it."""
    rows = [*result.rows, *([result.all_planted] if result.all_planted else [])]
    left_out = f"; {result.left_out} were left out" if result.left_out else ""
    return StabilityTable(
        HEADER,
        tuple(_cells(row) for row in rows),
        result.verdict,
        (
            *notes,
            "Correlation: Spearman's, within a session, of the target turns' judgements with those of the unchanged "
            f"question; the mean over scores, with its bootstrap interval ({result.confidence:.0%}, by session). A "
            f"score needs {FEWEST_TURNS} judged turns that are not all alike{left_out}.",
            "Less the paraphrase's: below zero where the order changes more than under other wording (paired).",
            "Planted turn: the one that the planted words wanted on top, against its place and judgement without them.",
        ),
    )


def _cells(row: Row) -> tuple[str, ...]:
    planted = row.planted
    return (
        row.title,
        _text(row.correlation, 3),
        _text(row.minus_paraphrase, 3, sign=True),
        _text(planted.rank if planted else None, 2, sign=True),
        _text(planted.value if planted else None, 2, sign=True),
        f"{planted.top_before} before, {planted.top_after} after" if planted else NO_FIGURE,
        str(row.episodes),
        str(row.failed),
    )


def _text(figure: Estimate | None, decimals: int, *, sign: bool = False) -> str:
    return NO_FIGURE if figure is None else figure.text(decimals, sign=sign)
