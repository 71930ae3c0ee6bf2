from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.features.emotion_model.sidecar import EmotionSidecar, read_sidecar, sidecar_path
from apportion.features.registry import EMOTIONS
from apportion.foundation.errors import InputError

NAMES = list(EMOTIONS)


def written(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "m.onnx"
    sidecar_path(path).write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_without_a_sidecar_all_is_hsemotion_s_and_what_is_written_reads_back(tmp_path: Path) -> None:
    assert read_sidecar(tmp_path / "m.onnx") == EmotionSidecar()
    assert EmotionSidecar().order == EMOTIONS
    sidecar = EmotionSidecar(
        order=tuple(reversed(NAMES)), mean=(0.5, 0.5, 0.5), input_px=260, color="bgr", softmax=False
    )
    assert read_sidecar(written(tmp_path, sidecar.model_dump_json())) == sidecar


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"colour": "rgb"}', r"m\.onnx\.json: colour: unknown key; did you mean 'color'\? Allowed: order, mean, std"),
        ('{"color": "gray"}', "color = 'gray'.*'rgb' or 'bgr'"),
        ('{"order": ["joy"]}', "'joy' is no emotion"),
        ('{"order": ["happy"]}', "did you mean 'happiness'"),
        ('{"order": ["anger", "anger"]}', "each emotion once"),
        ('{"mean": [1, 2]}', r"mean"),
        ('{"std": [1, 1, 0]}', "above 0"),
        ('{"std": [1, 1, "x"]}', r"std\.2 = 'x'"),
        ('{"input_px": 5}', "input_px = 5.*16"),
        ('{"softmax": "perhaps"}', "softmax = 'perhaps'"),
        ("[1]", "a JSON object is needed"),
        ("{", "not valid JSON"),
        ("[" * 50_000, "not valid JSON"),
        (" " * 70_000, "at most 65,536"),
    ],
)
def test_a_wrong_sidecar_says_what_is_allowed(tmp_path: Path, text: str | bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_sidecar(written(tmp_path, text))


def test_a_sidecar_that_cannot_be_read(tmp_path: Path) -> None:
    sidecar_path(tmp_path / "m.onnx").mkdir()
    with pytest.raises(InputError, match="cannot be read"):
        read_sidecar(tmp_path / "m.onnx")


@given(st.permutations(NAMES))
def test_any_order_of_the_eight_is_taken(order: list[str]) -> None:
    assert EmotionSidecar(order=tuple(name.title() for name in order)).order == tuple(order)
