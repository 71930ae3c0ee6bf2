"""The viewer's pages as a folder of files that opens from a disk: for whoever has no server, or should have none."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from html import escape
from importlib.resources import as_file, files
from itertools import chain
from pathlib import Path
from typing import Any

from apportion.features.media_io.media import locate
from apportion.foundation.errors import InputError, UnitError
from apportion.foundation.files import check_path, sync, sync_folder
from apportion.foundation.html.page import TOKENS
from apportion.pipeline.error_slices.run_slices import read_slices
from apportion.viewer.data.listing import PAGE, Page, Query
from apportion.viewer.data.run import ServedRun, serve_run
from apportion.viewer.data.run_location import CompanionFiles, RunPlace, beside
from apportion.viewer.data.session import read_session
from apportion.viewer.labels.label_store import Overlay
from apportion.viewer.pages import report, session, sessions, slices
from apportion.viewer.pages.compare import compare_files
from apportion.viewer.pages.links import REPORT, Links, bundled_name
from apportion.viewer.pages.sessions import sessions_data
from apportion.viewer.pseudonymize import renamed_copy
from apportion.viewer.views.session.view import SessionQuery, choose


@dataclass(frozen=True)
class BundleReport:
    """What was written: ``pages`` and copied recordings in the folder ``out``, ``size`` in bytes."""

    out: Path
    pages: int
    sessions: int
    recordings: int
    size: int

    def to_json(self) -> dict[str, Any]:
        """Plain values for ``--json``."""
        return {**self.__dict__, "out": str(self.out)}

    def __str__(self) -> str:
        kept = f"{self.recordings:,} recordings" if self.recordings else "no recordings"
        return (
            f"wrote {self.pages:,} pages of {self.sessions:,} sessions to {self.out} "
            f"({self.size / 2**20:.1f} MiB, {kept})\nnext: open {self.out / 'index.html'}"
        )


def write_bundle(
    place: RunPlace,
    out: Path,
    *,
    around: CompanionFiles | None = None,
    media: bool = False,
    pseudonyms: bool = False,
    names: Sequence[str] = (),
) -> BundleReport:
    """Write the run's pages into the folder ``out``, whole or not at all; what is there is never replaced.

    - ``around``: labels, another run and responses to compare; labels beside the run and nothing else where it is left
      out.
    - ``media``: whether recordings are copied, too.
    - ``pseudonyms``: whether people get other names (`apportion.viewer.pseudonymize`); goes with no recording, which
      would tell who they are.
    - ``names``: names to replace besides those of who takes part.

    Raises InputError: something is at ``out``, or it cannot be written; recordings together with pseudonyms; an
    unreadable run.
    """
    check_path(out)
    if media and pseudonyms:
        raise InputError("--media goes with no --pseudonyms: faces and voices tell who somebody is. Give one of them.")
    if out.exists() or out.is_symlink():
        raise InputError(f"{out}: exists, and is not replaced. Name a folder that is not there yet.")
    with ExitStack() as stack:
        shown, around = place, around or beside(place)
        if pseudonyms:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="apportion-bundle-")))
            shown, around = _renamed(place, around, folder, names)
        run = serve_run(shown)
        stack.callback(run.close)
        try:
            out.absolute().parent.mkdir(parents=True, exist_ok=True)
            scratch = out.absolute().with_name(f".{out.name}.{os.getpid()}.tmp")
            stack.callback(shutil.rmtree, scratch, ignore_errors=True)
            scratch.mkdir()
            report = _written(run, around, scratch, out, media, (place, shown))
            sync_folder(scratch)
            scratch.rename(out.absolute())  # Fails where something has come to be there meanwhile.
            sync(out.absolute().parent)
        except OSError as error:
            raise InputError(f"{out}: cannot be written ({error.strerror}). Choose another folder.") from None
    return report


def _renamed(
    place: RunPlace, around: CompanionFiles, folder: Path, names: Sequence[str]
) -> tuple[RunPlace, CompanionFiles]:
    """The run and what is beside it under other names; labels of the overlay are of the words as they were said."""
    renamed = renamed_copy(place, folder, names, around.responses, around.other)
    overlay = Overlay(folder / "none.labels.jsonl")
    return renamed.place, CompanionFiles(overlay, renamed.other, renamed.responses)


def _written(
    run: ServedRun, around: CompanionFiles, folder: Path, out: Path, media: bool, places: Sequence[RunPlace]
) -> BundleReport:
    _static(folder / "static")
    slugs = _slugs(run)
    pages = 0
    for here, html in chain(_pages(run, around.overlay, slugs), compare_files(run, around)):
        _write(folder / f"{here}.html", html(Links(here, bundled=True, recorded=media)), places)
        pages += 1
    _write(folder / "data" / "sessions.js", sessions_data(run, Links("index", bundled=True, recorded=media)), places)
    recordings = sum(_recordings(run, slug, folder) for slug in slugs) if media else 0
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return BundleReport(out, pages, len(slugs), recordings, size)


def _write(path: Path, text: str, places: Sequence[RunPlace]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(_without_places(text, places), encoding="utf-8")


def _pages(run: ServedRun, overlay: Overlay, slugs: Sequence[str]) -> Iterator[tuple[str, Callable[[Links], str]]]:
    """Every page: where it stands, and what makes it of its links."""
    with run.index.connect() as connection:
        episodes = int(connection.execute("SELECT count(*) FROM episodes").fetchone()[0])
    for number in range(1, Page.of(episodes, 1, PAGE).pages + 1):
        query = Query(page=number)
        yield bundled_name("index", {"page": number}), lambda links, query=query: sessions.html(run, links, query)  # type: ignore[misc]
    for slug in slugs:
        for rating in range(_ratings(run, slug)):
            one = partial(_session, run, overlay, slug, rating)
            yield bundled_name(f"session/{slug}", {"rating": rating}), one
    if (run.place.folder / REPORT).is_file():
        yield "report", lambda links: report.html(run, links)
    for at, method in enumerate(sorted(read_slices(run.place.folder)) or [""]):
        here = bundled_name("slices", {"number": at})
        yield here, lambda links, method=method: slices.html(run, links, method)  # type: ignore[misc]


def _session(run: ServedRun, overlay: Overlay, slug: str, rating: int, links: Links) -> str:
    return session.html(run, links, overlay, slug, SessionQuery(rating=rating))


def _ratings(run: ServedRun, slug: str) -> int:
    """How many pages a session has: one an episode, one where there is none."""
    tables = read_session(run.index, slug)
    return max(1, len(choose(tables, 0, ()).keys)) if tables else 1


def _slugs(run: ServedRun) -> list[str]:
    with run.index.connect() as connection:
        return [row[0] for row in connection.execute("SELECT slug FROM sessions ORDER BY id")]


def _static(folder: Path) -> None:
    """Style sheets and scripts, the shared colours among them."""
    with as_file(files("apportion.viewer").joinpath("static")) as static:
        shutil.copytree(static, folder)
    (folder / "tokens.css").write_text(TOKENS.read_text(encoding="utf-8"), encoding="utf-8")


def _recordings(run: ServedRun, slug: str, folder: Path) -> int:
    """Copy a session's recordings to where its page looks for them; one that cannot be served is left out."""
    tables = read_session(run.index, slug)
    copied = 0
    for number, media in enumerate(tables.session.media if tables else ()):
        try:
            source = locate(run.place.corpus, media.path)
        except UnitError:
            continue
        target = folder / "media" / slug / str(number)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        copied += 1
    return copied


def _without_places(html: str, places: Sequence[RunPlace]) -> str:
    """A page that says nothing of this machine's folders, which a warning may name."""
    for place in places:
        for folder, called in ((place.corpus, "CORPUS"), (place.folder, "RUN")):
            for path in (str(folder), os.path.normpath(folder), str(folder.resolve())):
                for written in (path, escape(path), json.dumps(path)[1:-1], json.dumps(escape(path))[1:-1]):
                    html = html.replace(written, called)
    home = str(Path.home())
    return html.replace(home + "/", "~/") if len(home) > 1 else html
