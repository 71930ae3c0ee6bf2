"""What an importer left out or found odd, counted over many sessions and told in one line each."""

from __future__ import annotations

EXAMPLES = 3


class SkipCounter:
    """Counts by what happened, with the sessions it happened in; lines come in the order of the first happening."""

    def __init__(self) -> None:
        self._happened: dict[str, dict[str, tuple[int | None, str | None]]] = {}

    def add(self, what: str, session_id: str, many: int | None = None, detail: str | None = None) -> None:
        """``what`` happened in the session ``session_id``, ``many`` times (None: no number to tell; 0: not at all)."""
        if many != 0:
            self._happened.setdefault(what, {})[session_id] = (many, detail)

    def take(self, other: SkipCounter) -> None:
        """Add what ``other`` has counted."""
        for what, sessions in other._happened.items():
            self._happened.setdefault(what, {}).update(sessions)

    def notes(self) -> tuple[str, ...]:
        """``what: 12 in 4 sessions (a, b, c, …)``, or ``what: 4 sessions (…)`` where there is no number."""
        return tuple(_line(what, sessions) for what, sessions in self._happened.items())


def _line(what: str, sessions: dict[str, tuple[int | None, str | None]]) -> str:
    total = sum(many or 0 for many, _ in sessions.values())
    shown = [f"{id_}: {detail}" if detail else id_ for id_, (_, detail) in list(sessions.items())[:EXAMPLES]]
    examples = "; ".join(shown) + "; …" * (len(sessions) > EXAMPLES)
    counted = f"{total:,} in " if total else ""
    return f"{what}: {counted}{len(sessions):,} session{'s' * (len(sessions) != 1)} ({examples})"
