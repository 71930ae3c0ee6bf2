import pytest
from pydantic import ValidationError

from apportion.features.settings import DescriptorSettings, FeatureSettings


def test_every_setting_is_described_and_has_a_default():
    for model in (FeatureSettings, type(DescriptorSettings().thresholds)):
        assert all(field.description for field in model.model_fields.values())
        model()


def test_settings_are_frozen_and_refuse_unknown_keys():
    with pytest.raises(ValidationError):
        FeatureSettings(pich_floor_hz=80.0)
    with pytest.raises(ValidationError):
        FeatureSettings().pitch_floor_hz = 80.0


def test_ceiling_must_be_above_the_floor():
    with pytest.raises(ValidationError, match=r"pitch_ceiling_hz = 100 must be above pitch_floor_hz = 200"):
        FeatureSettings(pitch_floor_hz=200.0, pitch_ceiling_hz=100.0)
