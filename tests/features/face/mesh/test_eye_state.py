"""One state of the eyes, by the opening beside the person's own."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.features.face.mesh.eye_state import EyeStates, eye_states

OPEN = [0.4] * 20
"""Looks at 2.5 a second."""


def states(openings, lifts=-8.0, smiles=0.0) -> EyeStates:
    values = np.array(openings, dtype=float)
    lifts, smiles = (np.broadcast_to(np.array(given, dtype=float), values.shape) for given in (lifts, smiles))
    return eye_states((np.arange(len(values)) * 0.4).tolist(), values, lifts, smiles, 0.22)


@pytest.mark.parametrize(
    ("opening", "lift", "smile", "told"),
    [
        (0.08, -15.0, 0.0, "closed"),
        (0.15, -15.0, 0.0, "closed"),
        (0.17, -12.0, 0.0, "either"),
        (0.19, -9.0, 0.0, "lowered"),
        (0.25, -7.0, 0.0, "lowered"),
        (0.25, 0.0, 0.0, None),  # narrowed, and looks at the screen
        (0.19, -5.0, 0.95, None),  # laughter
        (0.08, -15.0, 0.95, "closed"),
    ],
)
def test_lids_are_told_by_their_share_of_the_open_eye(opening, lift, smile, told):
    found = states(OPEN + [opening] * 5, [0.0] * 20 + [lift] * 5, [0.0] * 20 + [smile] * 5)
    shown = {name: getattr(found, name)[20:].tolist() for name in ("closed", "lowered", "either")}
    assert shown == {name: [float(name == told)] * 5 for name in shown}
    assert not found.blinks and not any(getattr(found, name)[:20].any() for name in shown)


def test_a_blink_is_none_of_them_and_a_glance_down_is_no_blink():
    blink = states([*OPEN, 0.1, *OPEN])
    assert blink.blinks == ((pytest.approx(7.6), pytest.approx(8.4)),)
    assert not (blink.closed + blink.lowered + blink.either).any() and blink.down.sum() == 1
    glance = states([*OPEN, 0.25, *OPEN])
    assert glance.blinks == () and glance.lowered.sum() == 1


def test_where_no_open_eye_was_seen_lowered_and_closed_are_one():
    found = states([0.1] * 10 + [0.18] * 10)
    assert found.either.tolist() == [1.0] * 20 and not (found.closed + found.lowered).any()


def test_lids_that_flutter_are_told_by_their_middle():
    found = states([*OPEN, 0.08, 0.2, 0.08, 0.08, 0.2, 0.08, 0.08])
    assert found.closed[20:].tolist() == [1.0] * 7


@given(st.lists(st.floats(0.0, 0.6) | st.just(math.nan), max_size=30), st.floats(-30, 10), st.floats(0, 1))
def test_no_look_has_two_states_and_what_is_not_seen_has_none(openings, lift, smile):
    found = states(openings, lift, smile)
    several = found.closed + found.lowered + found.either
    assert np.array_equal(np.isnan(several), np.isnan(np.array(openings, dtype=float)))
    assert set(several[np.isfinite(several)].tolist()) <= {0.0, 1.0}
    assert not ((several == 1.0) & (found.down != 1.0)).any()
