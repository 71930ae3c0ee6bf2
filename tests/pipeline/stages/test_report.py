"""What the page says of a run besides its tables."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from apportion.corpus.schema import SOURCES
from apportion.pipeline.config import Config
from apportion.pipeline.stages.report import learnt_elsewhere

STUDENT = (
    "'reactions-en' is Reactions, by a student of a language model that judged made-up English dialogues "
    "(reactions-en: learnt from 440 sessions of demo/reactions_en/dialogues.jsonl (made up) "
    "(judgements by Claude (Anthropic), 2026-11-23); Apache-2.0)."
)


def config(tmp_path: Path, *methods: str) -> Config:
    return Config.model_validate(
        {"corpus": tmp_path, "output": tmp_path, "decompose": {"method": methods[-1], "compare": methods[:-1]}}
    )


def sources(*names: str) -> pa.Table:
    rows = [{"method": "mix", "seed": 0, "source": name, "weight": 0.5} for name in names]
    return pa.Table.from_pylist(rows, schema=SOURCES.arrow)


def test_the_student_that_ships_is_called_what_it_is_as_a_method_and_as_a_source(tmp_path: Path) -> None:
    assert learnt_elsewhere(config(tmp_path, "uniform", "reactions-en"), None) == [STUDENT]
    mixed = config(tmp_path, "reaction", "mix")
    assert learnt_elsewhere(mixed, sources("reaction", "reactions-en", "llm")) == [STUDENT]
    assert learnt_elsewhere(mixed, sources("reaction", "llm")) == []
