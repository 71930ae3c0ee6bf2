"""Table 7 on bargains that scripts played, and on made-up ones."""

from pathlib import Path

import pytest

from apportion.environments.negotiation.bargaining.simulation import BargainingChoice
from apportion.environments.simulation import write_corpus
from apportion.environments.stackelberg.games import table_7
from apportion.environments.tournament.results import Result, read_results
from apportion.foundation.intervals.proportion import wilson
from apportion.foundation.intervals.resampling import Sampling

SAMPLING = Sampling(resamples=200)


def bargain(task: int, buyer: str, share: float | None, seller: str = "react") -> Result:
    scores = {"snp": 0.0} if share is None else {"snp": share, "share": share}
    return Result(f"{task}-{buyer}", str(task), (buyer, seller), (scores, {}))


def test_against_a_count_by_hand() -> None:
    made = [bargain(task, "ours", 0.5 if task % 2 else None) for task in range(20)]
    made += [bargain(task, "react", None) for task in range(20)] + [bargain(0, "react", 0.9, "other")]
    table = table_7(made, (), SAMPLING)
    assert "against the seller react" in table.title
    (ours, react) = table.rows
    low, high = wilson(0.5, 19)  # One less: the variance is estimated.
    assert (ours[1].value, ours[1].low, ours[1].high) == pytest.approx((50, 100 * low, 100 * high))
    assert ours[2].value == pytest.approx(0.25) and ours[3].value == pytest.approx(50) and ours[3].items == 10
    assert react[1].value == 0 and "no bargain ended in a deal" in table.text()
    assert "the seller other" in table_7(made, ("nobody", "other"), SAMPLING).title
    assert table_7([], (), SAMPLING).absent


def test_scripts_that_bargain(tmp_path: Path) -> None:
    write_corpus(BargainingChoice(("conceding", "greedy"), games=20), tmp_path)
    rows = {row[0]: row for row in table_7(read_results(tmp_path).results, ("conceding",), SAMPLING).rows}
    assert rows["conceding"][1].items == rows["greedy"][1].items == 20
    assert rows["conceding"][1].value == 100
