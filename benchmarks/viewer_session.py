"""Claims on the viewer's page of a session, in Chromium, on a SYNTHETIC run (benchmarks/viewer_run.py).

Run: python -m benchmarks.viewer_session [--work FOLDER] [--turns 1000] [--repeat 7]

A session of 1,000 turns (five methods) is interactive in under 1 s: from the request until a key has moved to the
first turn and the browser has drawn it. Beside it stands the processor time of the server and of the page's main
thread, which other work on the machine changes little. A film of 2 GB (a sparse file) is given from any place without
being read: the time to get 64 KiB from its start, middle and end, and by how much the server's memory grows meanwhile.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

import psutil
from playwright.sync_api import BrowserContext, Page

from apportion.corpus.corpus import Corpus
from benchmarks.measure import tell
from benchmarks.viewer_browser import looking
from benchmarks.viewer_run import write_synthetic_run

SESSION, FILM_BYTES = "long", 2 * 2**30
PRESSED = """() => new Promise((done) => {
  const press = () => {
    if (!document.querySelector("[data-ready]")) { setTimeout(press, 1); return; }
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "j", bubbles: true }));
    requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now())));
  };
  press();
})"""
"""Milliseconds from the request to the second picture after the first key."""


def write_run(work: Path, turns: int) -> Path:
    """The synthetic run with one long session and a row of media for a film that is not there yet."""
    run = write_synthetic_run(work, sessions=20, long=turns)
    corpus = work / "corpus"
    whole = Corpus.open(corpus)
    rows = [{"session_id": SESSION, "speaker": "bot", "kind": "video", "path": "film.mp4"}]
    media = whole.media.from_pylist(rows, schema=whole.media.schema)
    tables = {name: getattr(whole, name) for name in ("sessions", "utterances", "ratings")}
    Corpus.of(corpus, {**tables, "media": media}).write(corpus)
    return run


def interactive(page: Page, root: str, turns: int, repeat: int, process: psutil.Process) -> None:
    """How long a session takes until it answers."""
    watch = page.context.new_cdp_session(page)
    watch.send("Performance.enable", {"timeDomain": "threadTicks"})
    times, busy = [], []
    for _ in range(repeat + 1):
        before = process.cpu_times()
        page.goto(f"{root}session/{SESSION}", wait_until="commit")
        times.append(float(page.evaluate(PRESSED)))
        after = process.cpu_times()
        metrics = {one["name"]: one["value"] for one in watch.send("Performance.getMetrics")["metrics"]}
        server_s = after.user + after.system - before.user - before.system
        busy.append(1000 * (server_s + metrics["TaskDuration"]))
        assert page.locator(".turn.current").count() == 1
    times = sorted(times[1:])
    middle = times[len(times) // 2]
    tell(
        f"viewer session, {turns:,} turns", middle, "ms", limit=1000, met=middle < 1000, slowest=round(times[-1], 1),
        processor_ms=round(sorted(busy[1:])[len(times) // 2]), load=round(os.getloadavg()[0], 1),
        elements=page.locator("*").count(),
    )  # fmt: skip


def streamed(context: BrowserContext, root: str, film: Path, process: psutil.Process) -> None:
    """How a film of 2 GB is given."""
    with film.open("wb") as file:
        file.truncate(FILM_BYTES)
    address = f"{root}media/{SESSION}/0"
    context.request.get(address, headers={"Range": "bytes=0-0"})
    before, slowest = process.memory_info().rss, 0.0
    for first in (0, FILM_BYTES // 2, FILM_BYTES - 65_536):
        started = time.perf_counter()
        answer = context.request.get(address, headers={"Range": f"bytes={first}-{first + 65_535}"})
        slowest = max(slowest, 1000 * (time.perf_counter() - started))
        assert answer.status == 206 and len(answer.body()) == 65_536
    grown = (process.memory_info().rss - before) / 2**20
    tell("viewer film of 2 GB, 64 KiB from any place", slowest, "ms", load=round(os.getloadavg()[0], 1))
    tell("viewer film of 2 GB, server memory", grown, "MiB more", limit=50, met=grown < 50)


def main() -> None:
    """Make the run, serve it, look at it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, help="a folder that keeps the synthetic run")
    parser.add_argument("--turns", type=int, default=1000)
    parser.add_argument("--repeat", type=int, default=7)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        work = options.work or Path(scratch)
        run = work / "run" if (work / "run" / "run.json").is_file() else write_run(work, options.turns)
        with looking(run) as (page, root, process):
            interactive(page, root, options.turns, options.repeat, process)
            streamed(page.context, root, work / "corpus" / "film.mp4", process)


if __name__ == "__main__":
    main()
