"""Published ways of measuring behaviour, value by value."""

from __future__ import annotations

from collections.abc import Mapping

from apportion.foundation.presets import Preset, PublishedValue

PRESETS: Mapping[str, Preset] = {
    "paper": {
        "jitter": PublishedValue("disvoice", "section 5.1: jitter as DisVoice has it"),
        "detector": PublishedValue("haar", "section 5.1: OpenCV's CascadeClassifier, of smiles"),
        "nod_crossings": PublishedValue(2, "section 5.1: zero crossings >= 2"),
        "nod_range": PublishedValue(0.1, "section 5.1: scaled face range > 0.1"),
    }
}
"""LLM-GELI. Its code of gaze and nods is not public; its emotions ask for a model of AffectNet's classes."""
