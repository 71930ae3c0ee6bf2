"""A finished run's sessions as files for ELAN or Praat."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from foundation.errors import InputError, UnitError
from foundation.files import file_digest, write_atomically
from pipeline.engine.progress import StageProgress
from pipeline.results.publish import session_file_name

if TYPE_CHECKING:
    import pyarrow as pa

    from corpus.corpus import Corpus
    from corpus.session import Session
    from features.export.behaviour import SessionTiers
    from features.export.elan import LinkedMedia

Format = Literal["eaf", "textgrid"]
SUFFIXES: dict[Format, str] = {"eaf": ".eaf", "textgrid": ".TextGrid"}
PROGRAMS: dict[Format, str] = {"eaf": "ELAN", "textgrid": "Praat"}
UTTERANCE_TABLES = ("utterances.parquet", "utterances.jsonl")


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
            lines.append(f"left out: {_listed(self.untimed_sessions)} without any times: no file")
        if self.unmeasured_sessions:
            lines.append(f"only utterances: {_listed(self.unmeasured_sessions)} without measured behaviour in this run")
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


@dataclass(frozen=True)
class RunFolder:
    """The published tables of one run, and the corpus that it was made from."""

    folder: Path
    corpus: Corpus
    reply_max_s: float

    def table(self, name: str, session_id: str) -> pa.Table | None:
        """One session's rows of the table ``name``, None where the run has no such table."""
        return self._read(self.folder / f"{name}.parquet", session_id)

    def frames(self, session_id: str) -> pa.Table | None:
        """One session's ``frames``, None where nothing was measured in it."""
        return self._read(self.folder / "frames" / f"{session_file_name(session_id)}.parquet", session_id)

    def _read(self, path: Path, session_id: str) -> pa.Table | None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        if not path.is_file():
            return None
        try:
            return pq.read_table(path, filters=[("session_id", "==", session_id)], partitioning=None)
        except (OSError, pa.ArrowException) as error:
            raise UnitError(
                f"{path}: not a readable table ({str(error).splitlines()[0]}). Delete it and run `apportion run` again."
            ) from None


def open_run(source: Path, corpus: Path | None) -> RunFolder:
    """The run folder of a configuration, or ``source`` itself where it is one; ``corpus`` replaces the config's.

    Raises
    ------
    InputError
        No such file or folder, a folder that is no run's, a run folder without ``corpus``, a run that has not been
        made yet, a corpus whose utterances are not those of the run.
    """
    from corpus.corpus import Corpus
    from pipeline.config import load_config

    if source.is_dir():
        if corpus is None:
            raise InputError(
                f"{source}: a run folder does not say where its corpus is. Add --corpus FOLDER, or name the run's "
                "configuration (TOML) in its place."
            )
        folder = source
    else:
        config = load_config(source)
        folder, corpus = config.output, corpus or config.corpus
    record = _record(folder)
    opened = Corpus.open(corpus)
    _check_same(record, folder, opened.root)
    return RunFolder(folder, opened, float(record["config"]["features"]["reply_max_s"]))


def export_run(
    run: RunFolder, kind: Format, out: Path, session_ids: Sequence[str], force: bool, progress: StageProgress
) -> ExportReport:
    """Write one file a session into ``out``; ``session_ids`` are all of the corpus where empty.

    A file whose content would not change is left alone, another one is replaced only with ``force`` and named in the
    report otherwise: somebody may have annotated it. So is a session whose tables cannot be read; the others go on.

    Raises
    ------
    InputError
        An unknown session, a folder that cannot be written to, a corpus without any times.
    """
    chosen = list(dict.fromkeys(session_ids)) or run.corpus.session_ids()
    sessions = (
        [run.corpus.session(session_id) for session_id in chosen] if session_ids else map(run.corpus.session, chosen)
    )
    report = ExportReport(kind, out)
    progress.begin("export", len(chosen))
    for session in sessions:
        try:
            _export_session(run, session, force, report)
        except UnitError as error:
            report.failed[session.session_id] = str(error)
        progress.advance("export", 1)
    if not (report.written or report.unchanged or report.refused or report.failed):
        raise InputError(
            f"{run.corpus.root}: none of {_count(len(chosen), 'session')} has a turn with start_s and end_s, and "
            f"{PROGRAMS[kind]} shows nothing without times. Import a transcript with times."
        )
    return report


def _export_session(run: RunFolder, session: Session, force: bool, report: ExportReport) -> None:
    from features.export.behaviour import UTTERANCE, session_tiers

    name = session.session_id
    features, frames = run.table("utterance_features", name), run.frames(name)
    made = session_tiers(session, features, run.table("descriptors", name), frames, run.reply_max_s)
    if not made.tiers:
        report.untimed_sessions.append(name)
        return
    content = _render(run, session, made, report)
    write_once(report.out / f"{session_file_name(name)}{SUFFIXES[report.kind]}", content, force, report)
    report.untimed_turns += made.untimed
    if all(tier.kind == UTTERANCE for tier in made.tiers):
        report.unmeasured_sessions.append(name)


def _render(run: RunFolder, session: Session, made: SessionTiers, report: ExportReport) -> bytes:
    if report.kind == "textgrid":
        from features.export.textgrid import render_textgrid

        duration_s = session.duration_s or 0.0
        # A duration that is no number, or longer than anything said in it could be, is not drawn.
        known = 0.0 <= duration_s <= 4e6
        return render_textgrid(made.tiers, max(made.end_ms, round(duration_s * 1000) if known else 0))
    from features.export.elan import render_eaf

    return render_eaf(made.tiers, list(_media(run, session, report)))


def _media(run: RunFolder, session: Session, report: ExportReport) -> Iterable[LinkedMedia]:
    """The session's recordings as they look from the folder ``out``, each file once."""
    from features.export.elan import LinkedMedia
    from features.recording.media import locate

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
        relative = isinstance(place, Path)
        url = os.path.relpath(place, report.out.resolve()) if isinstance(place, Path) else place
        yield LinkedMedia(url if not relative else f"./{url}", relative, max(0, round(-media.offset_s * 1000)))


class Written(Protocol):
    """A report that files are noted in by what became of them."""

    written: list[Path]
    unchanged: list[Path]
    refused: list[Path]


def write_once(path: Path, content: bytes, force: bool, report: Written) -> None:
    """Write a file unless it has that content already; one with another is replaced only with ``force``.

    Raises
    ------
    InputError
        The folder cannot be written to.
    """
    try:
        if path.is_file() and path.read_bytes() == content:
            report.unchanged.append(path)
            return
        if path.exists() and not force:
            report.refused.append(path)
            return
        write_atomically(path, content)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror}). Choose another folder with --out.") from None
    report.written.append(path)


def _record(folder: Path) -> dict[str, Any]:
    path = folder / "run.json"
    try:
        record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        float(record["config"]["features"]["reply_max_s"])
        dict(record["inputs"])
    except FileNotFoundError:
        raise InputError(
            f"{folder}: no run.json, so nothing has been run into this folder. Run `apportion describe CONFIG` first."
        ) from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}). Check its owner and mode.") from None
    except (ValueError, KeyError, TypeError):
        raise InputError(
            f"{path}: not the record of a run. Run `apportion run CONFIG` again to write it anew."
        ) from None
    return record


def _check_same(record: dict[str, Any], folder: Path, root: Path) -> None:
    """Turn numbers of other utterances would put behaviour beside words that it does not belong to."""
    for name in UTTERANCE_TABLES:
        path = root / name
        if path.is_file() and record["inputs"].get(name) != file_digest(path):
            raise InputError(
                f"{path}: not the utterances that the run in {folder} was made from. Run it again on this corpus, or "
                "name its own with --corpus."
            )


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:3])
    return f"{_count(len(names), 'session')} ({shown}{', …' if len(names) > 3 else ''})"
