"""A study that shows itself: responses of a demo, simulated annotators with a taste that is known, a report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from study.definition.folder import StudyFolder
from study.definition.key import Key, read_key
from study.definition.making import Wanted, make_study
from study.report.results import StudyReport
from study.report.units import UNITS
from study.report.write import WRITERS, written
from study.simulated import SimulatedAnnotators, simulated_name
from study.store.rows import Answer, FullError
from study.store.store import Store

BEFORE, AFTER = "before", "after"
"""What the demo's policies are called: before PPO, and after it."""
EFFECT = 1.0
"""How much better simulated annotators find `AFTER`, in standard deviations of what an answer rests on. It is planted:
what they say shows that a report finds what is there, and nothing of the policies."""
ANNOTATORS, CARELESS, ITEMS_EACH, SEED = 12, 1, 10, 7


@dataclass(frozen=True)
class DemoStudy:
    """The study's folder, its report, and the files of that."""

    folder: StudyFolder
    report: StudyReport
    files: tuple[Path, ...]

    def lines(self) -> list[str]:
        """What was planted and what the report found, a line a criterion."""
        kinds = {one.criterion: one.kind for one in self.report.people.criteria}
        found = [f"planted: {AFTER} is better by {EFFECT:g} standard deviations of what an answer rests on"]
        for one in self.report.people.compared:
            told = UNITS[kinds[one.criterion]]
            figure = told.difference_text(one.difference.value, one.difference.low, one.difference.high)
            clear = one.p_holm is not None and one.p_holm < 0.05
            found.append(
                f"{one.criterion}, {told.difference}: {figure}{', told from it after correction' if clear else ''}"
            )
        return found


def demo_study(responses: pa.Table, out: Path, criteria: str = "geli") -> DemoStudy:
    """Make a study of two policies' responses, let simulated annotators answer all of it, and report it.

    Parameters
    ----------
    responses : pa.Table
        Schema RESPONSES, of `BEFORE` and `AFTER`.
    out : Path
        The study's folder, which is not there yet.
    criteria : str
        A set that ships.

    Raises
    ------
    InputError
        As `make_study`.
    """
    title = "Demo: before and after PPO (simulated annotators)"
    study, _ = make_study(
        responses, out, Wanted(criteria, title, BEFORE, SEED, items_per_annotator=ITEMS_EACH, checks_every=5)
    )
    key = read_key(out)
    with_taste = simulated(study, key, {AFTER: EFFECT}, careless=CARELESS)
    answer_all(study, with_taste, ANNOTATORS)
    found = written(out, out / "report", tuple(WRITERS))
    return DemoStudy(study, found.report, found.files)


def simulated(study: StudyFolder, key: Key, effects: Mapping[str, float], careless: int = 0) -> SimulatedAnnotators:
    """Simulated annotators of a study, of whom the first so many are careless."""
    hasty = frozenset(map(simulated_name, range(1, careless + 1)))
    return SimulatedAnnotators(study, key, effects, seed=SEED, careless=hasty)


def answer_all(study: StudyFolder, people: SimulatedAnnotators, number: int) -> None:
    """Let at most so many simulated annotators, one after the other, answer what the study's store gives them.

    Whoever comes when every item has the answers it needs is turned away, as people are.
    """
    # By the public link, where they say what they are called: `simulated-001`. The study's own file has no such link.
    open_to_all = study.settings.model_copy(update={"public": True, "public_limit": number})
    store = Store.open(None, replace(study, settings=open_to_all))
    try:
        for name in map(simulated_name, range(1, number + 1)):
            annotator = store.enter_public(name).annotator
            try:
                store.agree(annotator)
            except FullError:
                break
            store.read_instructions(annotator)
            while (place := store.next_place(annotator)).item is not None:
                given = people.answer(annotator, study.items[place.item])
                answer = Answer(given.answers, given.reason, given.seconds, given.focus_lost)
                store.save(annotator, place.item, answer, 0, f"{annotator}-{place.item}")
            store.finish(annotator)
    finally:
        store.close()
