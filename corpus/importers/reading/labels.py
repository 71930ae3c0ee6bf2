"""Judgements that are written down after the turn they judge."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field

from apportion.corpus import account
from apportion.corpus.builder import CorpusRows


@dataclass
class LabelsOfEarlierTurns:
    """Puts each judgement on the last target turn before it, the mean where several follow one target turn."""

    name: str
    scale: tuple[float, float]
    _values: dict[tuple[int, str | None], list[float]] = field(default_factory=lambda: defaultdict(list))

    def judge(self, target_turn: int | None, values: list[float], annotators: list[str | None]) -> None:
        """Judgements of ``target_turn`` (None: nothing of the target came before, so they are dropped)."""
        account.current().read("labels", len(values))
        if target_turn is None:
            account.current().left_out("labels", "come before any turn that they could judge", len(values))
            return
        for value, annotator in zip(values, annotators, strict=True):
            values_of_turn = self._values[target_turn, annotator]
            if values_of_turn:
                account.current().joined("labels", "judge a turn that has one already: the mean of them is there")
            values_of_turn.append(value)

    def misplaced(self, many: int) -> None:
        """So many stand on turns of the target itself, which nobody judges there."""
        account.current().read("labels", many)
        account.current().left_out("labels", "on turns of who is judged", many)

    def flush(self, rows: CorpusRows, session_id: str) -> None:
        """Add the labels of the session to ``rows`` and start anew."""
        for (turn, annotator), values in self._values.items():
            rows.label(session_id, turn, self.name, math.fsum(values) / len(values), self.scale, annotator)
        self._values.clear()

    def discard(self) -> None:
        """Forget the labels of a session that is left out."""
        self._values.clear()
