"""What `apportion policy score` says of turns and sessions beside their scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from apportion.foundation.truncate import counted

if TYPE_CHECKING:
    from apportion.reward_model.corpus_scores import CorpusScores

WARN_ABOVE = 0.5
"""The share of flagged turns above which the scores are warned of."""


def unlike_lines(told: dict[str, Any] | None) -> list[str]:
    """What is said of flagged turns (`Unlike`): a warning where they are most of all, else a note."""
    if told is None:
        return ["note: this model does not store what taught it, so turns unlike that are not flagged"]
    if not told["flagged"]:
        return []
    share = told["flagged"] / told["turns"]
    reasons = ", ".join(f"{count:,} by {reason}" for reason, count in told["by"].items())
    most_first = sorted(told["sessions"].items(), key=lambda item: (-item[1], item[0]))
    sessions = counted([f"{name} {part:.0%}" for name, part in most_first], "session", 5)
    many = f"{told['flagged']:,} of {told['turns']:,} turns ({share:.1%}) are unlike what taught this model: {reasons}"
    if share > WARN_ABOVE:
        return [f"warning: {many}; in {sessions}. Do not rely on these scores: train a model on dialogues like these."]
    return [f"note: {many}; in {sessions}; the column `rationale` says which"]


def left_out(scores: CorpusScores) -> list[str]:
    """The sessions that were taken up, cut short, left out or failed, a line a kind."""
    lines = []
    if scores.resumed:
        lines.append(f"taken up: {scores.resumed:,} sessions that had been scored before the last run was stopped")
    if scores.shortened:
        shortened = counted(scores.shortened, "session")
        lines.append(
            f"note: {shortened} longer than the model reads at once; later turns were scored with less history than "
            "there is"
        )
    if scores.unrated:
        lines.append(
            f"left out: {counted(scores.unrated, 'session')} without such a rating; --target names the speaker instead"
        )
    if scores.silent:
        lines.append(f"left out: {counted(scores.silent, 'session')} in which the target says nothing")
    return [*lines, *(f"failed: {session_id}: {cause}" for session_id, cause in scores.failed.items())]
