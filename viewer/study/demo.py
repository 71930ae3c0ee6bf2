"""The demo's study is served to this machine alone, and simulated annotators take part in it on its pages."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace

from apportion.study.simulated_annotators import SimulatedAnnotators
from apportion.study.store.store import Store
from apportion.viewer.study.serve import served_beside
from apportion.viewer.study.simulated_browser import Browser, Visit

AT_ONCE = 3
"""Annotators who answer at the same time."""
Progress = Callable[[float, float | None, str], None]


def visited(people: SimulatedAnnotators, names: tuple[str, ...], progress: Progress = lambda *_: None) -> int:
    """Serve the study of simulated annotators, let those named take part in it, and how many answers they gave.

    They come in by a public link, by which they say what they are called; the study's own file need not have one.
    Whoever comes when no item wants an answer any more is turned away.

    ``people``: what everybody answers. ``names``: who comes, in this order. ``progress``: is told how many have been
    there, of how many, and where. Raises VisitError: a page was not as it should be.
    """
    study = people.study
    settings = study.settings.model_copy(update={"public": True, "public_limit": len(names)})
    with (
        closing(Store.open(None, replace(study, settings=settings), simulated=True)) as store,
        served_beside(store, entries=len(names)) as address,
    ):
        visits = [Visit(people, name, Browser(f"{address}/")) for name in names]
        begun = [visit for visit in visits if visit.agree()]  # One after the other: the draws are the same each time.
        with ThreadPoolExecutor(AT_ONCE) as pool:
            counts = []
            for count in pool.map(Visit.take_part, begun):
                counts.append(count)
                progress(len(counts), len(begun), address)
    return sum(counts)
