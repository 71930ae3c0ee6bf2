"""Published shares of sessions, value by value."""

from __future__ import annotations

from collections.abc import Mapping

from apportion.foundation.presets import Preset, PublishedValue

_E = "appendix E"

PRESETS: Mapping[str, Preset] = {
    "paper": {
        "by": PublishedValue("session", "not in the paper: `person` would lose sessions"),
        "train": PublishedValue(0.36, f"{_E}: 360 of 1,000 conversations"),
        "validation": PublishedValue(0.0, f"{_E}: 360 and 40 and 600, none for choosing an epoch"),
        "test": PublishedValue(0.04, f"{_E}: 40 of 1,000 conversations"),
        "policy": PublishedValue(0.6, f"{_E}: 600 of 1,000 conversations, kept apart for the adaptation"),
    }
}
"""LLM-GELI, which took 1,000 of CANDOR's 1,656 conversations; `run.limit` takes as many."""
