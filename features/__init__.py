"""How people behave in recordings: voice, face and emotions, measured and put into words.

>>> from apportion.features import EMOTIONS, FEATURES
>>> EMOTIONS[:3]
('anger', 'contempt', 'disgust')
>>> FEATURES["smile"].unit
'of the time'

From the ground up: `sampling_clock` (when something is looked at), `time_series` (a behaviour over time), `settings`,
`registry` (all features, a row each), `turn_windows` (the stretches of time that answer a turn), `talk` (pauses,
overlaps and backchannels of a transcript), `media_io` (files opened safely), `voice`, `vocal_intensity_model` (how
strongly somebody speaks), `network_files` (other formats as ONNX), `emotion_model`, `precomputed` (what came measured
with a corpus), `verbalization` (figures as English), `export` (ELAN and Praat), `face`, `presence` (how much there is
of a person), `events` (what happened at a moment), `extract` (a session's tables), `probe` (one file, looked at).

Names are imported when they are first used, so that this package costs nothing to import.
"""

from typing import TYPE_CHECKING

from apportion.foundation.lazy import lazy_names

if TYPE_CHECKING:
    from apportion.features.extract import extract_session
    from apportion.features.registry import EMOTIONS, FEATURES
    from apportion.features.settings import DescriptorSettings, FeatureSettings
    from apportion.features.time_series import Series
    from apportion.features.verbalization.verbalize import describe_session

__all__ = [
    "EMOTIONS",
    "FEATURES",
    "DescriptorSettings",
    "FeatureSettings",
    "Series",
    "describe_session",
    "extract_session",
]

__getattr__ = lazy_names(__name__, __file__)
