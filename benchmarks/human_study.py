"""Claim: on studies of Table 1's size (LLM-GELI) intervals cover what they say and corrected stars are rarely false.

Run: python benchmarks/human_study.py [--studies 1000] [--annotators 30]

Simulated annotators, no people: 100 items, 8 systems, 9 criteria, 3 annotators an item. How many annotators share the
300 answers is not told by the paper for a table: 30 (10 items each) is our assumption, 300 (an item each) are all of
the workers that its section 5.3 names.
Whether an answer marks a response is a probit of the system's share and of what is shared: the item, the annotator, the
item's response by that system, the annotator's taste for it, half of each common to all criteria (`SHARED`;
"independent": none of it, which is the best that a study can hope for). First without any effect (all systems have the
base's shares), then with the shares that Table 1 prints: how often each of its stars would be told from the base,
corrected over the 63 comparisons.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

# A file beside this one is named like a package of ours, so its own folder may not be searched first.
sys.path[0] = str(Path(__file__).resolve().parents[1])

import numpy as np
from scipy.stats import ttest_rel

from apportion.evaluation.human_agreement.answers import Answers
from apportion.evaluation.human_agreement.comparison import SystemComparisons, compare_to
from apportion.evaluation.human_agreement.proportions import share_interval
from apportion.foundation.arrays import Floats
from apportion.foundation.intervals.resampling import Sampling
from apportion.study.simulated_annotators import INDEPENDENT, Shared, simulated_marks
from benchmarks.measure import tell

ITEMS, AN_ITEM, ANNOTATORS = 100, 3, 30
CRITERIA = (
    "connection",
    "positivity",
    "social",
    "inclination",
    "interesting",
    "reuse",
    "specific",
    "sensible",
    "fluency",
)
BASE = "Llama"
TABLE_1 = {  # percent of answers that mark the system; Table 1, LLM-GELI
    "GPT-3.5": (6.33, 7.67, 7.33, 7.0, 8.67, 8.0, 76.0, 78.67, 79.0),
    "Llama": (20.67, 22.0, 23.67, 19.0, 8.67, 16.33, 86.33, 94.33, 92.33),
    "RRD": (2.67, 2.0, 2.67, 2.67, 2.67, 2.33, 71.67, 69.0, 69.33),
    "LS": (16.67, 15.33, 18.0, 13.0, 6.33, 11.33, 86.0, 94.0, 92.33),
    "VA": (12.67, 12.67, 13.67, 12.33, 7.0, 9.33, 82.67, 90.0, 89.67),
    "GELI": (27.0, 25.67, 26.0, 25.0, 19.33, 23.33, 84.67, 87.0, 84.33),
    "LLM-GELI": (23.67, 25.33, 24.33, 25.33, 18.0, 20.0, 89.33, 93.67, 91.33),
    "MM-LLM-GELI": (25.0, 23.33, 26.33, 24.33, 21.67, 21.33, 89.67, 94.67, 93.33),
}
STARS = {
    "GELI": "connection positivity social inclination interesting reuse fluency",
    "LLM-GELI": "connection positivity inclination interesting reuse specific",
    "MM-LLM-GELI": "connection social inclination interesting reuse specific fluency",
}
SHARED = Shared()


def draw(shares: Floats, shared: Shared, rng: np.random.Generator, people: int = ANNOTATORS) -> dict[str, Answers]:
    """One study's answers by so many annotators; ``shares`` from 0 to 1 [shape=(K, C)]."""
    items = np.repeat(np.arange(ITEMS), AN_ITEM)
    # An item's three are of one permutation, and so nobody answers it twice.
    annotators = np.concatenate([rng.permutation(people) for _ in range(len(items) // people)])
    marks = simulated_marks(shares, shared, items, annotators, rng)
    names = tuple(TABLE_1)
    return {name: Answers(names, items, annotators, marks[:, :, place]) for place, name in enumerate(CRITERIA)}


def by_splits(answers: Answers, system: str) -> float:
    """The p-value of a paired t-test of three splits' shares, which three numbers seem to invite."""
    of_split = [
        answers.values[answers.items % 3 == split][:, [answers.place(system), answers.place(BASE)]].mean(axis=0)
        for split in range(3)
    ]
    one, other = np.stack(of_split, axis=1)
    return float(ttest_rel(one, other).pvalue) if np.ptp(one - other) > 0 else 1.0


def run(title: str, shares: Floats, shared: Shared, people: int, studies: int, seed: int) -> None:
    """Draw the studies of one setting and tell what their tables say."""
    base = list(TABLE_1).index(BASE)
    truth = {
        (criterion, system): float(shares[k, c] - shares[base, c])
        for c, criterion in enumerate(CRITERIA)
        for k, system in enumerate(TABLE_1)
    }
    found: list[tuple[SystemComparisons, ...]] = []
    naive, shares_covered = np.zeros(0), []
    rng = np.random.default_rng(seed)
    for _ in range(studies):
        study = draw(shares, shared, rng, people)
        found.append(compare_to(BASE, study, Sampling(resamples=200), marks=CRITERIA))
        one = study["connection"]
        naive = np.append(naive, [by_splits(one, system) for system in TABLE_1 if system != BASE])
        for k in range(len(TABLE_1)):
            given = share_interval(one.values[:, k], one.items, one.annotators)
            assert given is not None
            _, low, high = given
            shares_covered.append(low is not None and high is not None and low <= shares[k, 0] <= high)
    cells = [cell for table in found for cell in table]
    covered = [
        cell.difference.low <= truth[cell.criterion, cell.system] <= cell.difference.high
        for cell in cells
        if cell.difference.low is not None and cell.difference.high is not None
    ]
    boot = [
        cell.bootstrap[0] <= truth[cell.criterion, cell.system] <= cell.bootstrap[1]
        for cell in cells
        if cell.bootstrap[0] is not None
    ]
    named = {"setting": title, "annotators": people, "studies": studies, "simulated": True}
    tell("intervals of differences that hold the truth", float(np.mean(covered)), "share", **named)
    tell("intervals by items alone (bootstrap) that hold it", float(np.mean(boot)), "share", **named)
    tell("intervals of shares (connection) that hold it", float(np.mean(shares_covered)), "share", **named)
    told = np.array([[cell.p_holm is not None and cell.p_holm < 0.05 for cell in table] for table in found])
    tell("cells told from the base, corrected", float(told.mean()), "share", **named)
    tell("studies with any cell told, corrected", float(told.any(axis=1).mean()), "share", **named)
    raw = np.mean([cell.difference.p is not None and cell.difference.p < 0.05 for cell in cells])
    tell("cells told, not corrected", float(raw), "share", **named)
    mc = np.mean([cell.marks is not None and cell.marks.p < 0.05 for cell in cells])
    tell("cells told by McNemar, not corrected", float(mc), "share", **named)
    tell("cells told by t-tests of three splits, not corrected", float((naive < 0.05).mean()), "share", **named)
    if "Table 1" not in title:
        return
    for system, criteria in STARS.items():
        for criterion in criteria.split():
            at = next(i for i, cell in enumerate(found[0]) if (cell.criterion, cell.system) == (criterion, system))
            power = float(told[:, at].mean())
            p_values = [table[at].difference.p for table in found]
            alone = float(np.mean([p is not None and p < 0.05 for p in p_values]))
            gain = 100 * truth[criterion, system]
            tell(
                f"star {system}, {criterion}: told, corrected", power, "share", points=gain, uncorrected=alone, **named
            )


def main(studies: int, people: int) -> None:
    table = np.array(list(TABLE_1.values())) / 100
    none = np.repeat(table[[list(TABLE_1).index(BASE)]], len(TABLE_1), axis=0)
    for how, shared in (("shared", SHARED), ("independent", INDEPENDENT)):
        run(f"no effect, {how}", none, shared, people, studies, 0)
        run(f"Table 1, {how}", table, shared, people, studies, 1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=1000)
    whole = [number for number in range(AN_ITEM, ITEMS * AN_ITEM + 1) if ITEMS * AN_ITEM % number == 0]
    parser.add_argument(
        "--annotators", type=int, default=ANNOTATORS, choices=whole, metavar="N", help="a divisor of 300"
    )
    given = parser.parse_args()
    main(given.studies, given.annotators)
