"""A finished run's sessions as files for ELAN or Praat."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from apportion.foundation.errors import InputError, UnitError
from apportion.foundation.truncate import counted
from apportion.pipeline.engine.progress import StageProgress
from apportion.pipeline.results.run_folder import RunFolder, session_file_name, write_once

if TYPE_CHECKING:
    from apportion.corpus.session import Session
    from apportion.features.export.behaviour import SessionTiers
    from apportion.features.export.elan import LinkedMedia

Format = Literal["eaf", "textgrid"]
SUFFIXES: dict[Format, str] = {"eaf": ".eaf", "textgrid": ".TextGrid"}
PROGRAMS: dict[Format, str] = {"eaf": "ELAN", "textgrid": "Praat"}


@dataclass
class ExportReport:
    """What an export did: files by what became of them, and what the files do not show."""

    kind: Format
    out: Path
    written: list[Path] = field(default_factory=list)
    unchanged: list[Path] = field(default_factory=list)
    untimed_turns: int = 0
    untimed_sessions: list[str] = field(default_factory=list)
    unmeasured_sessions: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    refused: list[Path] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Plain values for ``--json``."""
        return {
            "format": self.kind,
            "written": [str(path) for path in self.written],
            "unchanged": [str(path) for path in self.unchanged],
            "untimed_turns": self.untimed_turns,
            "untimed_sessions": self.untimed_sessions,
            "unmeasured_sessions": self.unmeasured_sessions,
            "notes": self.notes,
            "refused": [str(path) for path in self.refused],
            "failed": self.failed,
        }

    def __str__(self) -> str:
        lines = [f"wrote {_count(len(self.written), 'file')} ({SUFFIXES[self.kind]}) to {self.out}"]
        if self.unchanged:
            lines[0] += f"; {_count(len(self.unchanged), 'file')} had the same content already"
        if self.untimed_turns:
            lines.append(f"left out: {_count(self.untimed_turns, 'turn')} without usable times")
        if self.untimed_sessions:
            lines.append(f"left out: {counted(self.untimed_sessions, 'session')} without any times: no file")
        if self.unmeasured_sessions:
            unmeasured = counted(self.unmeasured_sessions, "session")
            lines.append(f"only utterances: {unmeasured} without measured behaviour in this run")
        if self.refused:
            first, verb = self.refused[0].name, "differs" if len(self.refused) == 1 else "differ"
            lines.append(
                f"kept: {_count(len(self.refused), 'file')} that {verb} from what would be written "
                f"({first}{', …' if len(self.refused) > 1 else ''}). Use --force to replace, or another --out."
            )
        lines += [f"note: {note}" for note in self.notes]
        lines += [f"failed: {session_id}: {cause}" for session_id, cause in self.failed.items()]
        some = next(iter([*self.written, *self.unchanged]), None)
        if some is not None:
            lines.append(f"next: open {some} in {PROGRAMS[self.kind]}")
        return "\n".join(lines)


def export_run(
    run: RunFolder, kind: Format, out: Path, session_ids: Sequence[str], force: bool, progress: StageProgress
) -> ExportReport:
    """Write one file a session into ``out``; ``session_ids`` are all of the corpus where empty.

    A file whose content would not change is left alone, another one is replaced only with ``force`` and named in the
    report otherwise: somebody may have annotated it. So is a session whose tables cannot be read; the others go on.

    Raises InputError: An unknown session, a folder that cannot be written to, a corpus without any times.
    """
    ids = list(dict.fromkeys(session_ids)) or run.corpus.session_ids()
    sessions = [run.corpus.session(session_id) for session_id in ids] if session_ids else map(run.corpus.session, ids)
    report = ExportReport(kind, out)
    progress.begin("export", len(ids))
    for session in sessions:
        try:
            _export_session(run, session, force, report)
        except UnitError as error:
            report.failed[session.session_id] = str(error)
        progress.advance("export", 1)
    if not (report.written or report.unchanged or report.refused or report.failed):
        raise InputError(
            f"{run.corpus.root}: none of {_count(len(ids), 'session')} has a turn with start_s and end_s, and "
            f"{PROGRAMS[kind]} shows nothing without times. Import a transcript with times."
        )
    return report


def _export_session(run: RunFolder, session: Session, force: bool, report: ExportReport) -> None:
    from apportion.corpus.session import TALK_KINDS
    from apportion.features.export.behaviour import UTTERANCE, session_tiers

    name = session.session_id
    features, frames = run.table("utterance_features", name), run.frames(name)
    described, events = run.table("descriptors", name), run.table("events", name)
    made = session_tiers(session, features, described, frames, run.reply_max_s, events)
    if not made.tiers:
        report.untimed_sessions.append(name)
        return
    content = _render(run, session, made, report)
    write_once(report.out / f"{session_file_name(name)}{SUFFIXES[report.kind]}", content, force, report)
    report.untimed_turns += made.untimed
    if all(tier.kind in (UTTERANCE, *TALK_KINDS) for tier in made.tiers):
        report.unmeasured_sessions.append(name)


def _render(run: RunFolder, session: Session, made: SessionTiers, report: ExportReport) -> bytes:
    if report.kind == "textgrid":
        from apportion.features.export.textgrid import render_textgrid

        duration_s = session.duration_s or 0.0
        # A duration that is no number, or longer than anything said in it could be, is not drawn.
        known = 0.0 <= duration_s <= 4e6
        return render_textgrid(made.tiers, max(made.end_ms, round(duration_s * 1000) if known else 0))
    from apportion.features.export.elan import render_eaf

    return render_eaf(made.tiers, list(_media(run, session, report)))


def _media(run: RunFolder, session: Session, report: ExportReport) -> Iterable[LinkedMedia]:
    """The session's recordings as they look from the folder ``out``, each file once."""
    from apportion.features.export.elan import LinkedMedia
    from apportion.features.media_io.media import locate

    seen: set[str] = set()
    for media in session.media:
        if media.path in seen or media.kind not in ("audio", "video"):
            continue
        seen.add(media.path)
        try:
            place = locate(run.corpus.root, media.path)
        except UnitError as error:
            report.notes.append(f"{session.session_id}: not linked: {error}")
            continue
        if media.offset_s > 0:
            report.notes.append(
                f"{session.session_id}: {media.path} begins {media.offset_s:g} s into the session, which ELAN cannot "
                f"show: it will play that much too early. Put {media.offset_s:g} s of silence or black before it."
            )
        url = os.path.relpath(place, report.out.resolve())
        yield LinkedMedia(f"./{url}", True, max(0, round(-media.offset_s * 1000)))


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
