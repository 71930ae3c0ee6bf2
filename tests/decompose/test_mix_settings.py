import pytest
from pydantic import ValidationError

from apportion.decompose.settings import DecomposeSettings, MixSettings


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"sources": ["reaction", "lllm"]}, "'lllm' is no source; did you mean 'llm'"),
        ({"sources": ["rrd"]}, "'rrd' is no source"),
        ({"sources": ["llm", "llm"]}, "llm, llm: name each source once"),
        ({"sources": []}, "at least 1 item"),
        ({"weights": {"affect": 1.0}}, r"weights: 'affect' is not among sources \(reaction, .*add it there"),
        ({"weights": {"llm": -1.0}}, "weights: llm = -1 is not from 0 to 1e6"),
        ({"weights": {"llm": float("nan")}}, "finite number"),
        ({"weights": {"llm": 0.0}}, "none is above 0; leave weights out"),
    ],
)
def test_what_cannot_be_mixed_is_refused(given, says):
    with pytest.raises(ValidationError, match=says):
        DecomposeSettings(mix=given)


def test_any_method_that_judges_may_be_a_source():
    found = DecomposeSettings(mix={"sources": ["affect", "llm-multimodal"], "weights": {"affect": 2}})
    assert found.mix == MixSettings(sources=("affect", "llm-multimodal"), weights={"affect": 2.0})
