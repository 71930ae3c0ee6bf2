from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from apportion.decompose.methods import find_method
from apportion.decompose.session_methods.runner import judge_session
from apportion.decompose.settings import DecomposeSettings
from apportion.decompose.settings_key import settings_identity
from apportion.features.vocal_intensity_model.model import IntensityModel
from apportion.foundation.errors import InputError
from apportion.llm_client.session import LLMSession
from tests.decompose.sessions import features, session

TURNS = tuple((who, "word") for _ in range(4) for who in ("SYSTEM", "USER"))
LOUDER = IntensityModel(np.array([0.0, 2.0, 0.0, 0.0, 0.0]), 0.5)
"""Of the intensity in standard deviations from usual alone."""
Said = tuple[int, str, str, float | None]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    LOUDER.save(tmp_path / "model", {})
    return tmp_path / "model"


def voices(*rows: Said) -> pa.Table:
    """Rows of (turn, person, window, intensity in dB); None where nothing was heard."""
    return features(*(
        ("s1", turn, person, window, feature, None if level is None else mean)
        for turn, person, window, level in rows
        for feature, mean in (("f0_hz", 150.0), ("intensity_db", level), ("log_energy_db", -30.0), ("smile", 1.0))
    ))  # fmt: skip


def judged(model: Path | None, table: pa.Table | None, **chosen: Any) -> list[tuple[float | None, str | None]]:
    settings = DecomposeSettings(intensity={"model": model, **chosen})
    with LLMSession(settings.llm) as asker:
        found = judge_session("intensity", session(turns=TURNS), None, None, settings, asker, table).judgements
    assert found.column("turn").to_pylist() == [0, 2, 4, 6]
    return list(zip(found.column("raw_reward").to_pylist(), found.column("rationale").to_pylist(), strict=True))


OWN = [(turn, "USER", "during", level) for turn, level in ((1, 60.0), (3, 70.0), (5, 50.0), (7, 60.0))]
REPLIES = [(0, "USER", "reply", 60.0), (2, "USER", "reply", 70.0), (4, "USER", "reply", None)]


def test_a_turn_is_as_good_as_the_reply_is_strong_against_what_is_usual_for_the_rater(model: Path) -> None:
    sd = float(np.std([60.0, 70.0, 50.0, 60.0]))
    expected = [1 / (1 + np.exp(-(0.5 + 2 * (level - 60.0) / sd))) for level in (60.0, 70.0)]
    found = judged(model, voices(*OWN, *REPLIES, (0, "SYSTEM", "during", 90.0), (0, "USER", "during", 20.0)))
    assert [value for value, _ in found] == [pytest.approx(expected[0]), pytest.approx(expected[1]), None, None]
    assert found[0][1] == "a strong voice 0.62 (USER, reply)"


def test_the_utterance_itself_can_be_listened_to(model: Path) -> None:
    target = [(turn, "SYSTEM", "during", level) for turn, level in ((0, 50.0), (2, 60.0), (4, 70.0), (6, None))]
    found = judged(model, voices(*OWN, *REPLIES, *target), of="utterance")
    values = [value for value, _ in found]
    assert values[3] is None and values[:3] == sorted(values[:3]) and values[0] != values[2]
    assert found[0][1] is not None and "(SYSTEM, during)" in found[0][1]


def test_a_whole_recording_louder_changes_nothing(model: Path) -> None:
    louder = [(t, p, w, None if level is None else level + 12) for t, p, w, level in (*OWN, *REPLIES)]
    one, other = judged(model, voices(*OWN, *REPLIES)), judged(model, voices(*louder))
    assert [v for v, _ in one if v is not None] == pytest.approx([v for v, _ in other if v is not None])


@pytest.mark.parametrize("table", [None, voices(), voices(*OWN[:2], *REPLIES)])
def test_nobody_heard_or_too_little_to_know_what_is_usual_is_no_value(model: Path, table: pa.Table | None) -> None:
    assert judged(model, table) == [(None, None)] * 4


def test_without_a_model_it_says_how_to_make_one(tmp_path: Path) -> None:
    for path in (None, tmp_path / "none"):
        with pytest.raises(InputError, match="train intensity FOLDER"):
            judged(path, voices(*OWN, *REPLIES))


def test_its_values_are_known_by_the_model_s_content(tmp_path: Path, model: Path) -> None:
    def identity(path: Path, **chosen: Any) -> dict[str, Any]:
        settings = DecomposeSettings(intensity={"model": path, **chosen})
        return settings_identity(find_method("intensity"), settings)

    LOUDER.save(tmp_path / "copy", {})
    assert identity(model) == identity(tmp_path / "copy") != identity(model, of="utterance")
    assert str(tmp_path) not in str(identity(model))
    IntensityModel(LOUDER.weights, 0.0).save(tmp_path / "copy", {})
    assert identity(model) != identity(tmp_path / "copy")
    assert judged(model, voices(*OWN, *REPLIES)) != judged(tmp_path / "copy", voices(*OWN, *REPLIES))
    assert "intensity" not in settings_identity(find_method("sentiment"), DecomposeSettings())
