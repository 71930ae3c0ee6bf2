"""Claims on the viewer's list of sessions and its page of one, in Chromium, on a SYNTHETIC run (`viewer_run`).

Run: python -m benchmarks.viewer [--work FOLDER] [--repeat 7] [--sessions 10000 | --session [--turns 1000]]

A list of 10,000 sessions is shown in under 300 ms (from the request to the end of `load`, as the browser measures it:
`loadEventEnd`), each search in under 200 ms (from the form's submission to the new rows in the page), and the server
takes under 400 MiB (RSS of the process that `apportion view` starts, highest of the run). Medians and the slowest of
all are told. Words are searched that nearly every session holds, that few hold, phrases, beginnings, what is nowhere.

--session: one of 1,000 turns (five methods) is interactive in under 1 s, from the request until a key has moved to the
first turn and the browser has drawn it. Beside it stands the processor time of the server and of the page's main
thread, which other work on the machine changes little. A film of 2 GB (a sparse file) is given from any place without
being read: the time to get 64 KiB from its start, middle and end, and by how much the server's memory grows meanwhile.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import psutil
import pyarrow.parquet as pq
from playwright.sync_api import BrowserContext, Page, sync_playwright

from apportion.corpus.corpus import Corpus
from apportion.pipeline.results.run_folder import read_record
from benchmarks.measure import ROOT, tell
from benchmarks.viewer_run import COMMON, RARE, VOCABULARY, vocabulary, write_synthetic_run

SORTS = ("session", "score", "-disagreement", "lowest", "-residual", "-length", "sum", "split", "-warnings")
NAVIGATION = "() => performance.getEntriesByType('navigation')[0].loadEventEnd"
SEARCH = """(text) => new Promise((done) => {
  const form = document.querySelector("form[data-live]"), results = document.getElementById("results");
  const started = performance.now();
  new MutationObserver((_, watcher) => {
    if (!results.dataset.shown) return;
    watcher.disconnect();
    results.getBoundingClientRect();
    done(performance.now() - started);
  }).observe(results, { attributes: true, attributeFilter: ["data-shown"], childList: true });
  delete results.dataset.shown;
  form.elements.q.value = text;
  form.requestSubmit();
})"""
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


@contextmanager
def looking(run: Path) -> Iterator[tuple[Page, str, psutil.Process]]:
    """`apportion view` of a run: a page on its list, the list's address without the token, and the server's process.

    Raises
    ------
    SystemExit
        There is no Chromium.
    """
    program = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        raise SystemExit("no Chromium here: install the package `chromium`, or name one with CHROMIUM=...")
    command = [sys.executable, "-m", "apportion", "view", str(run), "--port", "0", "--no-browser"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert process.stdout is not None
    try:
        address = ""
        for line in process.stdout:
            address = found[0] if (found := re.search(r"http://\S+", line)) else address
            if "Ctrl-C" in line:
                break
        with sync_playwright() as playwright:
            arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
            browser = playwright.chromium.launch(executable_path=program, args=arguments)
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.goto(address)
            page.wait_for_url(lambda url: "token" not in url)
            yield page, address.partition("?")[0], psutil.Process(process.pid)
            browser.close()
    finally:
        process.terminate()
        process.wait()


def searches(run: Path) -> dict[str, str]:
    """What is typed, by what is special about it; of the words that the run was made of."""
    words = vocabulary(np.random.default_rng(7))
    assert len(words) == VOCABULARY
    text = pq.read_table(run.parent / "corpus" / "utterances.parquet", columns=["text"])["text"][0].as_py()
    return {
        "a common word": words[COMMON] + " ",
        "the two commonest words": f"{words[0]} {words[1]} ",
        "a rare word": words[RARE] + " ",
        "a phrase": '"' + " ".join(text.split()[:3]) + '"',
        "a beginning of one letter": words[COMMON][:1],
        "a beginning of two letters": words[COMMON][:2],
        "a word and without another": f"{words[COMMON]} -{words[COMMON + 1]}",
        "a session's id": "s04242",
        "nothing that is there": "zzzzzzzzzzz ",
    }


def measure(page: Page, root: str, run: Path, repeat: int, process: psutil.Process) -> None:
    """All figures of one server."""
    sessions = read_record(run)["sessions"]
    peak = process.memory_info().rss

    def loaded(address: str) -> float:
        page.goto(root + address, wait_until="load")
        return float(page.evaluate(NAVIGATION))

    loaded("")
    figures: dict[str, list[float]] = {}
    for sort in SORTS:
        figures[sort] = [loaded(f"?sort={sort}") for _ in range(repeat)]
    figures["the last page"] = [loaded("?page=100000&sort=score") for _ in range(repeat)]
    peak = max(peak, process.memory_info().rss)
    _tell("viewer list", figures, 300, sessions=sessions)
    loaded("")
    page.evaluate("performance.clearResourceTimings()")
    asked = searches(run)
    found = {name: [float(page.evaluate(SEARCH, text)) for _ in range(repeat)] for name, text in asked.items()}
    counts = {}
    for name, text in asked.items():
        page.evaluate(SEARCH, text)
        counts[name] = page.locator(".pages span").inner_text() if page.locator(".pages").count() else "none"
    peak = max(peak, process.memory_info().rss)
    _tell("viewer search", found, 200, sessions=sessions, found=counts)
    tell("viewer server memory", peak / 2**20, "MiB", limit=400, met=peak / 2**20 < 400)


def _tell(name: str, figures: dict[str, list[float]], limit: float, **more: object) -> None:
    every = [value for values in figures.values() for value in values]
    medians = {what: round(statistics.median(values), 1) for what, values in figures.items()}
    slowest = max(medians.values())
    tell(
        name, slowest, "ms", what="the slowest of the medians", limit=limit, met=slowest < limit, medians=medians,
        slowest_of_all=round(max(every), 1), load=round(os.getloadavg()[0], 1), **more,
    )  # fmt: skip


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
    """Make the run where it is not there yet, serve it, look at it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--work", type=Path, help="a folder that keeps the synthetic run, one for the list and another for --session"
    )
    parser.add_argument("--sessions", type=int, default=10_000)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--session", action="store_true", help="look at the page of a session, not at the list")
    parser.add_argument("--turns", type=int, default=1000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        work = options.work or Path(scratch)
        run = work / "run"
        if not (run / "run.json").is_file():
            write_run(work, options.turns) if options.session else write_synthetic_run(work, options.sessions)
        had = (run / "viewer" / "sessions.sqlite").is_file()
        started = time.perf_counter()
        with looking(run) as (page, root, process):
            if options.session:
                interactive(page, root, options.turns, options.repeat, process)
                streamed(page.context, root, work / "corpus" / "film.mp4", process)
                return
            ready = time.perf_counter() - started
            chromium = page.context.browser.version if page.context.browser else ""
            tell("first page" if had else "first page, its index made", ready, "s", chromium=chromium)
            measure(page, root, run, options.repeat, process)


if __name__ == "__main__":
    main()
