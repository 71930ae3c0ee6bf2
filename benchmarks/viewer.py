"""Claims on the viewer's list of sessions, in Chromium, on a SYNTHETIC run (benchmarks/viewer_run.py).

Run: python -m benchmarks.viewer [--work FOLDER] [--sessions 10000] [--repeat 7]

A list of 10,000 sessions is shown in under 300 ms (from the request to the end of `load`, as the browser measures it:
`loadEventEnd`), each search in under 200 ms (from the form's submission to the new rows in the page), and the server
takes under 400 MiB (RSS of the process that `apportion view` starts, highest of the run). Medians and the slowest of
all are told. Words are searched that nearly every session holds, that few hold, phrases, beginnings, what is nowhere.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path

import psutil
import pyarrow.parquet as pq
from playwright.sync_api import Page

from apportion.pipeline.results.run_folder import read_record
from benchmarks.measure import tell
from benchmarks.viewer_browser import looking
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


def searches(run: Path) -> dict[str, str]:
    """What is typed, by what is special about it; of the words that the run was made of."""
    import numpy as np

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


def main() -> None:
    """Make the run where it is not there yet, serve it, look at it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, help="a folder that keeps the synthetic run")
    parser.add_argument("--sessions", type=int, default=10_000)
    parser.add_argument("--repeat", type=int, default=7)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        work = options.work or Path(scratch)
        run = work / "run"
        if not (run / "run.json").is_file():
            write_synthetic_run(work, options.sessions)
        had = (run / "viewer" / "sessions.sqlite").is_file()
        started = time.perf_counter()
        with looking(run) as (page, root, process):
            ready = time.perf_counter() - started
            chromium = page.context.browser.version if page.context.browser else ""
            tell("first page" if had else "first page, its index made", ready, "s", chromium=chromium)
            measure(page, root, run, options.repeat, process)


if __name__ == "__main__":
    main()
