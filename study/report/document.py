"""A study's report as JSON: all of its data, numbers unrounded."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import Any

from apportion.study.report.results import StudyReport

FORMAT = 1
"""Counted up where a field changes its meaning."""


def as_json(report: StudyReport) -> str:
    """Fields as `apportion.study.report.results` has them; what is no number is null."""
    document = {"format": FORMAT, "simulated_annotators": report.simulated, **asdict(report)}
    return json.dumps(_plain(document), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
