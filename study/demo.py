"""A study that shows itself: responses of a demo, simulated annotators with a taste that is known, a report.

How they come to its pages is told by `apportion.viewer.study.simulated_browser`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from apportion.study.design.create import StudyPlan, make_study
from apportion.study.design.folder import StudyFolder
from apportion.study.design.unblinding_key import Key, read_key
from apportion.study.report.grids import UNITS
from apportion.study.report.results import StudyReport
from apportion.study.report.write import WRITERS, written
from apportion.study.simulated_annotators import SimulatedAnnotators, simulated_name

BEFORE, AFTER = "before-ppo", "after-ppo"
"""What the demo's policies are called: before PPO, and after it."""
TITLE = "Demo: which chatbot answers better (simulated annotators)"
EFFECT = 1.0
"""How much better simulated annotators find `AFTER`, in standard deviations of what an answer rests on. It is planted:
what they say shows that a report finds what is there, and nothing of the policies."""
EACH_ITEM, CARELESS, ITEMS_EACH, SEED = 3, 1, 10, 7
"""Simulated answers to an item; annotators who click at random; items an annotator; the study's seed."""


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


def make_demo(responses: pa.Table, out: Path, criteria: str = "geli", *, own_place: bool = False) -> StudyFolder:
    """Make a study of two policies' responses.

    - ``responses``: schema RESPONSES, of `BEFORE` and `AFTER`.
    - ``out``: the study's folder, which is not there yet.
    - ``criteria``: a set that ships.
    - ``own_place``: whether each item waits for one person more than there are simulated ones: for who looks at the
      pages.

    Raises InputError: as `make_study`.
    """
    wanted = StudyPlan(
        criteria,
        TITLE,
        BEFORE,
        SEED,
        annotators_per_item=EACH_ITEM + own_place,
        items_per_annotator=ITEMS_EACH,
        checks_every=5,
    )
    return make_study(responses, out, wanted)[0]


def simulated_names(study: StudyFolder) -> tuple[str, ...]:
    """The simulated annotators that give each item that counts `EACH_ITEM` answers; the first `CARELESS` are careless.

    Whoever comes last finds fewer items left, if each waits for no more.
    """
    number = math.ceil(len(study.counted) * EACH_ITEM / study.settings.items_per_annotator)
    return tuple(map(simulated_name, range(1, max(number, EACH_ITEM) + 1)))


def simulated(
    study: StudyFolder, key: Key, effects: Mapping[str, float], careless: int = CARELESS
) -> SimulatedAnnotators:
    """Simulated annotators of a study, of whom the first so many are careless."""
    hasty = frozenset(map(simulated_name, range(1, careless + 1)))
    return SimulatedAnnotators(study, key, effects, seed=SEED, careless=hasty)


def planted(study: StudyFolder) -> SimulatedAnnotators:
    """Those of the demo's study, who find `AFTER` better."""
    return simulated(study, read_key(study.path), {AFTER: EFFECT})


def report_demo(study: StudyFolder) -> DemoStudy:
    """Write the study's report into its folder. Raises InputError: as `written`."""
    found = written(study.path, study.path / "report", tuple(WRITERS))
    return DemoStudy(study, found.report, found.files)
