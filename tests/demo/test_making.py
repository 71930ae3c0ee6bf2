"""Making the demo corpus says what is missing, and plants what it is told to."""

from __future__ import annotations

import importlib.util
import io
import random
import shutil
import statistics
import subprocess
import sys
import wave
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.corpus.session import Turn
from apportion.demo.builders import films, make_corpus, voices
from apportion.demo.builders.dialogues import load_phrases, load_scenarios
from apportion.demo.builders.planting import QUALITY_NAMES, Event, blur, draw_qualities, draw_rating
from apportion.demo.builders.scenes import FRAME_RATE, NOD_PX, poses
from tests.demo.expected import expected_score


@given(st.lists(st.integers(-2, 2), min_size=1, max_size=20), st.integers(0, 2**32))
def test_ratings_stay_on_the_scale_and_near_the_formula(qualities: list[int], seed: int) -> None:
    rating = draw_rating("user", "assistant", qualities, random.Random(seed))
    assert rating.low <= rating.score <= rating.high
    assert abs(rating.score - expected_score(qualities)) < 0.75


@given(st.integers(2, 9), st.integers(0, 2**32))
def test_drawn_qualities_differ_within_a_session(count: int, seed: int) -> None:
    drawn = draw_qualities(count, random.Random(seed))
    assert len(drawn) == count
    assert len(set(drawn)) > 1
    assert set(drawn) <= set(QUALITY_NAMES)


def test_replies_mostly_show_the_true_quality() -> None:
    rng = random.Random(0)
    shown = [blur(2, rng) for _ in range(4000)]
    assert statistics.mean(value == 2 for value in shown) == pytest.approx(0.80, abs=0.03)  # a step up stays at 2
    assert statistics.mean(value == 0 for value in shown) == pytest.approx(0.15, abs=0.03)


def test_every_scenario_has_eight_stages_whose_slots_are_declared() -> None:
    for name, scenario in load_scenarios().items():
        assert len(scenario["stage"]) == 8, name
        for stage in scenario["stage"]:
            assert set(stage) == {"ask", "thing", "short", "fact", "more", "gift"}, name
            for text in stage.values():
                assert text.format_map({slot: values[0] for slot, values in scenario["slots"].items()})


def test_every_quality_has_phrases() -> None:
    for use in ("answer", "reaction"):
        assert set(load_phrases()[use]) == set(QUALITY_NAMES.values())


def test_poses_swing_in_an_event_and_rest_outside() -> None:
    silence = np.zeros(voices.RATE_HZ * 4, np.float32)
    nodding = list(poses([Event("ana", "nod_yes", 1.0, 3.0)], silence, random.Random(0)))
    still = list(poses([], silence, random.Random(0)))
    moved = [a.down_px - b.down_px for a, b in zip(nodding, still, strict=True)]
    assert max(moved) > 0.8 * NOD_PX and min(moved) < -0.8 * NOD_PX
    assert moved[:FRAME_RATE] == [0.0] * FRAME_RATE
    assert [pose.right_px for pose in nodding] == [pose.right_px for pose in still]


def test_a_line_without_times_is_refused() -> None:
    with pytest.raises(ValueError, match="turn 3 has no times"):
        films._span(Turn(3, "ana", "Hello."))


def test_a_machine_without_the_programs_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(SystemExit, match=r"espeak-ng is not installed.*apt-get install espeak-ng"):
        voices.espeak_version()
    monkeypatch.setattr(make_corpus, "espeak_version", lambda: voices.TESTED_VERSION)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SystemExit, match=r"scikit-image is not installed.*demo-build"):
        make_corpus._check_tools()


def test_another_sample_rate_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    content = io.BytesIO()
    with wave.open(content, "wb") as file:
        file.setparams((1, 2, 8000, 0, "NONE", ""))
        file.writeframes(b"\x00\x10" * 800)
    reply = subprocess.CompletedProcess([], 0, stdout=content.getvalue())
    monkeypatch.setattr(subprocess, "run", lambda *args, **kwargs: reply)
    with pytest.raises(SystemExit, match="spoke at 8000 Hz"):
        voices.speak("Hello.", voices.VOICES["ana"], 0.0)


def test_another_espeak_is_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(make_corpus, "espeak_version", lambda: "9.9")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    make_corpus._check_tools()
    assert "espeak-ng is 9.9; demo/corpus was made with 1.51" in capsys.readouterr().err


def test_the_script_runs_from_anywhere_without_an_installed_package(tmp_path: Path) -> None:
    script = Path(make_corpus.__file__)
    done = subprocess.run([sys.executable, str(script), "--help"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "--seed" in done.stdout
