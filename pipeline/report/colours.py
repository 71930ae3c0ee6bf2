"""The colour of each method, the same on every page."""

from __future__ import annotations

import hashlib

COLOURED = (
    "llm", "llm-multimodal", "rrd", "sentiment", "uniform", "affect", "ircr", "rudder", "reaction", "reaction-llm",
    "rrd-va", "rrd-ls", "ircr-va", "rudder-va", "rrd-published", "rrd-160", "rrd-160-published",
    "sentiment-raw", "affect-raw", "sentiment-utterance", "sentiment-utterance-raw",
    "intensity", "intensity-raw", "episode-score", "savoir", "savoir-paper", "savoir-paper-raw", "shapley-hindsight",
    "expected-utility", "leave-one-out", "sotopia-rl", "influence", "influence-served", "mix", "llm-student",
    "prior", "reactions-en", "llm-rubric", "people-student", "predicted-reaction", "zero-shot",
    "zero-shot-served",
)  # fmt: skip
"""The methods of this package, each with a colour of its own in every report, whatever is beside it."""
GUESTS = 4
"""Colours for the methods that other packages bring, behind those."""


def colour_class(method: str) -> str:
    """The class that colours a method, the same in every report and every subset of methods."""
    if method in COLOURED:
        return f"m{COLOURED.index(method)}"
    return f"m{len(COLOURED) + int(hashlib.sha256(method.encode()).hexdigest(), 16) % GUESTS}"
