"""What the paper's own tables say of each other (The Stackelberg Speaker, Tables 1, 2 and 5)."""

import numpy as np
import pytest
from scipy import stats

from apportion.foundation.intervals.proportion import wilson

TABLE_1 = {
    "Werewolf": (
        (17.5, 79.0, 35.0), (24.0, 66.7, 36.3), (20.6, 77.1, 36.7), (24.9, 72.8, 38.6), (22.6, 82.1, 39.7),
        (29.1, 84.2, 44.7),
    ),
    "Avalon": (
        (70.5, 16.0, 48.7), (73.2, 19.5, 51.6), (71.8, 25.0, 53.0), (77.6, 27.0, 57.4), (73.1, 30.9, 56.4),
        (78.5, 35.2, 61.3),
    ),
    "ONUW": (
        (56.1, 40.0, 43.1), (54.6, 40.9, 43.5), (54.1, 43.9, 45.9), (54.2, 47.4, 48.5), (61.7, 39.6, 45.1),
        (55.2, 50.6, 51.5),
    ),
}  # fmt: skip
"""By game the rows: the larger team, the smaller one, overall; in percent."""
SMALLER = {"Werewolf": 2 / 7, "Avalon": 2 / 5, "ONUW": 1 / 5}
"""The smaller team's part of the seats (appendix A)."""
TABLE_2 = {
    "ReAct": (18, 80, 72, 16, 56, 40),
    "negative-only": (18, 80, 72, 20, 54, 40),
    "ours": (52, 88, 72, 50, 76, 46),
}
TABLE_5_OURS = (52, 86, 74, 46, 76, 48)
MATCHES = 50


def overall(game, larger, smaller):
    return (1 - SMALLER[game]) * larger + SMALLER[game] * smaller


def off(game, exchanged):
    return [
        abs(overall(game, *((small, large) if exchanged else (large, small))) - printed)
        for large, small, printed in TABLE_1[game]
    ]


@pytest.mark.parametrize("game", ["Werewolf", "Avalon"])
def test_overall_follows_from_the_teams_by_their_seats(game):
    assert max(off(game, exchanged=False)) < 0.25
    assert min(off(game, exchanged=True)) > 5


def test_onuws_follows_only_with_the_two_columns_exchanged():
    """All rows but one to 0.3; that one (61.7, 39.6, 45.1) to 1.1, and as printed by 12.2."""
    as_printed, exchanged = off("ONUW", exchanged=False), off("ONUW", exchanged=True)
    assert min(as_printed) > 2.7 and np.mean(as_printed) > 7
    assert sorted(round(value, 1) for value in exchanged)[:5] == pytest.approx([0.0, 0.0, 0.1, 0.1, 0.3], abs=0.06)
    assert max(exchanged) == pytest.approx(1.1, abs=0.05)


def test_a_cell_of_50_matches_is_known_to_14_points():
    low, high = wilson(0.5, MATCHES)
    assert 100 * (high - low) / 2 == pytest.approx(13.4, abs=0.05)
    low, high = stats.binomtest(25, MATCHES).proportion_ci()
    assert 100 * (high - low) / 2 == pytest.approx(14.5, abs=0.05)  # Exact (Clopper and Pearson).


def wins(percent):
    return percent * MATCHES // 100


def p_of(one, other):
    rows = [[wins(one), MATCHES - wins(one)], [wins(other), MATCHES - wins(other)]]
    return float(stats.fisher_exact(rows).pvalue)


def test_of_table_2s_six_cells_two_differ_from_react():
    ps = [p_of(one, other) for one, other in zip(TABLE_2["ReAct"], TABLE_2["ours"], strict=True)]
    assert [p < 0.05 for p in ps] == [True, False, False, True, False, False]
    assert min(p_of(one, other) for one, other in zip(TABLE_2["ReAct"], TABLE_2["negative-only"], strict=True)) > 0.7


def test_tables_2_and_5_differ_in_the_same_cell_by_less_than_chance():
    """Ours + ReAct against ReAct, 50 matches: 0 to 2 matches apart in each of six cells."""
    apart = [abs(wins(one) - wins(other)) for one, other in zip(TABLE_2["ours"], TABLE_5_OURS, strict=True)]
    assert apart == [0, 1, 1, 2, 0, 1]
    chance = 1.0
    for one, other, most in zip(TABLE_2["ours"], TABLE_5_OURS, apart, strict=True):
        counts = np.arange(MATCHES + 1)
        rate = (one + other) / 200
        weights = stats.binom.pmf(counts, MATCHES, rate)
        near = np.abs(counts[:, None] - counts) <= most
        chance *= float((np.outer(weights, weights) * near).sum())
    assert chance == pytest.approx(6e-5, rel=0.1)
    # Two independent cells of one rate of 50 % lie 10 points apart, by one standard deviation.
    assert 100 * np.sqrt(2 * 0.25 / MATCHES) == pytest.approx(10)


def test_what_50_and_500_matches_can_tell():
    """The difference of two rates near 50 % that is found four times out of five (normal approximation)."""

    def found(difference, matches):
        rates = np.array([0.5 - difference / 2, 0.5 + difference / 2])
        spread = np.sqrt((rates * (1 - rates)).sum() / matches)
        return stats.norm.cdf(difference / spread - stats.norm.ppf(0.975))

    assert found(0.270, 50) == pytest.approx(0.8, abs=0.005)
    assert found(0.089, 500) == pytest.approx(0.8, abs=0.01)
    assert found(0.05, 1570) == pytest.approx(0.8, abs=0.005)
