"""Published settings of an evaluation, value by value."""

from __future__ import annotations

from collections.abc import Mapping

from apportion.foundation.presets import Preset, PublishedValue

PRESETS: Mapping[str, Preset] = {
    "paper": {
        "happiness_source": PublishedValue(
            "mode", "Eq. 7 and appendix E.1: happiness alone is positive; the most probable emotion, as in GELI's code"
        ),
    }
}
"""LLM-GELI."""
