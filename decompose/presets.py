"""Published settings of a decomposition, value by value."""

from __future__ import annotations

from collections.abc import Mapping

from apportion.foundation.presets import Preset, PublishedValue

PRESETS: Mapping[str, Preset] = {
    "paper": {
        "methods": PublishedValue(("llm", "llm-multimodal"), "section 4.1: LLM-GELI (Eq. 3), Multimodal-LLM-GELI (2)"),
        "target": PublishedValue("score", "Eq. 4: the rewards are asked to sum to the score itself"),
        "constraint": PublishedValue("soft", "section 4.1: a soft constraint in the prompt"),
        "llm": {
            "prompt": PublishedValue("paper", "section 4.1: its wording"),
            "model": PublishedValue("o3-mini", "section 4.1"),
            "samples": PublishedValue(1, "section 5: a single run; appendix J asks twice for its check alone"),
        },
        "rrd": {
            "k": PublishedValue(32, "Table 4: K = 32; `rrd-160` is its other row"),
            "corrected": PublishedValue(
                False, "section 5.2: RRD as in Ren et al. (2021), whose loss has no correction"
            ),
        },
        "geli": {
            "weight": PublishedValue(0.5, "section 5.2, GELI (Lee et al., 2024): equal parts in its code"),
        },
    },
    "savoir": {
        "methods": PublishedValue(("savoir-paper",), "algorithm 1; section 3.5 learns its values, from 0 to 10"),
        "savoir": {
            "rollouts": PublishedValue(2, "appendix D: J = 2"),
            "weights": PublishedValue(
                {"GOAL": 0.5, "REL": 0.3, "KNO": 0.2}, "appendix D: w_d; a judge has to score all three"
            ),
            "scaled": PublishedValue(False, "Eq. 3: on the ranges of the dimensions"),
        },
    },
}
"""LLM-GELI. The language model takes no temperature (o3-mini has none); appendix J names one, of 1, for its check.
SAVOIR's number of coalitions, min(12n + 2, 200), is what `decompose.savoir.budget` is where nothing is set."""
