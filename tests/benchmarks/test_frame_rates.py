"""What is compared between variants of a film, on figures whose answer is known."""

import json

import numpy as np
import pytest

from benchmarks.frame_rates import looks_away, tell_sure

NAN = float("nan")


@pytest.mark.parametrize(
    ("on_screen", "border", "told"), [(1.0, 0.0, 0.0), (0.2, 0.0, 1.0), (0.65, 0.3, NAN), (NAN, 0.0, NAN)]
)
def test_words_look_away_or_do_not_or_are_not_sure(on_screen, border, told):
    cells = {(0, "gaze_on_screen"): on_screen, (0, "gaze_border"): border}
    assert looks_away(cells, 0) == pytest.approx(told, nan_ok=True)


def test_only_windows_that_are_sure_in_both_variants_are_compared(capsys):
    tell_sure([np.array([[1.0, 0.0, NAN], [1.0, 1.0, 0.0]])], "mesh")
    told = json.loads(capsys.readouterr().out)
    assert (told["figure"], told["windows_sure"], told["reached"]) == (0.5, 0.833, False)
