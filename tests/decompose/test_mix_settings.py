import pytest
from pydantic import ValidationError

from apportion.decompose.settings import DecomposeSettings, MixSettings


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"components": ["reaction", "lllm"]}, "'lllm' is no component; did you mean 'llm'"),
        ({"components": ["rrd"]}, "'rrd' is no component"),
        ({"components": ["llm", "llm"]}, "llm, llm: name each component once"),
        ({"components": []}, "at least 1 item"),
        ({"weights": {"affect": 1.0}}, r"weights: 'affect' is not among components \(reaction, .*add it there"),
        ({"weights": {"llm": -1.0}}, "weights: llm = -1 is not from 0 to 1e6"),
        ({"weights": {"llm": float("nan")}}, "finite number"),
        ({"weights": {"llm": 0.0}}, "none is above 0; leave weights out"),
    ],
)
def test_what_cannot_be_mixed_is_refused(given, says):
    with pytest.raises(ValidationError, match=says):
        DecomposeSettings(stacking=given)


def test_any_method_that_judges_may_be_a_source():
    found = DecomposeSettings(stacking={"components": ["affect", "llm-multimodal"], "weights": {"affect": 2}})
    assert found.stacking == MixSettings(components=("affect", "llm-multimodal"), weights={"affect": 2.0})
