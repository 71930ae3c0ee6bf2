"""Figures of one episode: the sum and the lowest turn."""

from __future__ import annotations

from apportion.viewer.data.measures import Standing, standing


def test_the_sum_and_the_first_of_the_lowest_turns():
    assert standing({1: 0.5, 3: -0.25, 5: -0.25}) == Standing(0.0, 3, -0.25)
