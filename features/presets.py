"""Published ways of measuring behaviour, value by value."""

from __future__ import annotations

from collections.abc import Mapping

from apportion.foundation.presets import Preset, Published

PRESETS: Mapping[str, Preset] = {
    "paper": {
        "jitter": Published("disvoice", "section 5.1: jitter as DisVoice has it"),
        "detector": Published("haar", "section 5.1: OpenCV's CascadeClassifier, of smiles"),
        "nod_crossings": Published(2, "section 5.1: zero crossings >= 2"),
        "nod_range": Published(0.1, "section 5.1: scaled face range > 0.1"),
    }
}
"""LLM-GELI. Its code of gaze and nods is not public; its emotions ask for a model of AffectNet's classes."""
