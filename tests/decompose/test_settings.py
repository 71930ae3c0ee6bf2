import pytest
from pydantic import ValidationError

from apportion.decompose.settings import DecomposeSettings


def test_the_defaults_need_no_model_and_no_network():
    assert DecomposeSettings().methods == ("uniform", "sentiment", "rrd")


def test_an_unknown_method_is_refused_with_the_nearest():
    with pytest.raises(ValidationError, match="no decomposition method 'sentimnt'; did you mean 'sentiment'"):
        DecomposeSettings(methods=("uniform", "sentimnt"))


def test_a_method_is_named_once():
    with pytest.raises(ValidationError, match="name each method once"):
        DecomposeSettings(methods=("uniform", "uniform"))


def test_a_blend_needs_the_method_that_it_mixes_in():
    with pytest.raises(ValidationError, match="reaction-llm reads what llm has judged; add llm"):
        DecomposeSettings(methods=("reaction", "reaction-llm"))
    assert DecomposeSettings(methods=("llm", "reaction-llm")).methods == ("llm", "reaction-llm")


def test_at_least_one_method_is_named():
    with pytest.raises(ValidationError):
        DecomposeSettings(methods=())


def test_every_knob_says_what_it_is():
    def described(model):
        for name, field in model.model_fields.items():
            if hasattr(field.annotation, "model_fields"):
                described(field.annotation)
            else:
                assert field.description, name

    described(DecomposeSettings)
