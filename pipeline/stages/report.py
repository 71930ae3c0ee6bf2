"""The stage `report`: everything that a run made, as one page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from apportion.pipeline.config import Config, shown_config
from apportion.pipeline.engine.stage import Inputs, Outputs, Stage, Work
from apportion.pipeline.presets import preset_notes

if TYPE_CHECKING:
    import pyarrow as pa

NOBODY_SCORED = "none: no session has a score"
SHOWN = {
    "rewards": "rewards",
    "train-reward": "reward models",
    "evaluate": "evaluation",
    "align": "aligned policy",
}
"""The stages whose results a reader looks for, and what the results are called."""


def _report(inputs: Inputs, config: Config, work: Work) -> Outputs:
    """Everything a run made to one HTML page, and why the rest is missing."""
    from apportion.decompose.methods import METHODS
    from apportion.evaluation.error_slices.result import ErrorSlices
    from apportion.pipeline.engine.training_curves import training_curves
    from apportion.pipeline.report.page import ReportInputs, Sample, render_report

    evaluations = [artifact.document("evaluation") for artifact in inputs.artifacts("evaluate")]
    samples, sources = inputs.table("align", "samples"), inputs.table("fit", "sources")
    warnings = (*inputs.facts["warnings"], *inputs.facts["recordings"])
    audits = [artifact.document("audit") for artifact in inputs.artifacts("stability")]
    slices = [
        ErrorSlices.from_json(artifact.document(name.removesuffix(".json")))
        for artifact in inputs.artifacts("slices")
        for name in sorted(artifact.files)
        if name.endswith(".json")
    ]
    page = render_report(
        ReportInputs(
            rating=config.rating or NOBODY_SCORED,
            evaluation=evaluations[0] if evaluations else None,
            rewards=inputs.table("rewards", "rewards"),
            episodes=inputs.episodes(config.rating),
            splits=inputs.required("split", "splits"),
            method=config.decompose.method,
            descriptors=inputs.table("verbalize", "descriptors"),
            sources=sources,
            histories=training_curves(inputs.upstream, inputs.facts["unfinished"]),
            samples=tuple(Sample(**row) for row in samples.to_pylist()) if samples is not None else (),
            quarantine=tuple(inputs.facts["quarantine"]),
            warnings=warnings,
            config=json.dumps(shown_config(config), indent=1, sort_keys=True),
            versions=inputs.facts["versions"],
            notes=(*preset_notes(config), *learnt_elsewhere(config, sources), *config.notes),
            audit=audits[0]["table"] if audits else None,
            gold=_gold(inputs),
            slices=tuple(slices),
            missing=missing(inputs),
            unfinished=frozenset(row["stage"] for row in inputs.facts["unfinished"]),
            lineage=inputs.facts["lineage"],
            language_model=config.decompose.llm.model if any(METHODS[n].asks for n in config.decompose.judging) else "",
        )
    )
    (work.out / "report.html").write_text(page, encoding="utf-8")
    return Outputs()


def _gold(inputs: Inputs) -> Mapping[str, Any]:
    """What gold says of the policy; nothing where nobody asked it."""
    paths = [artifact.folder / "policy" / "gold.json" for artifact in inputs.artifacts("align")]
    return next((json.loads(path.read_text(encoding="utf-8")) for path in paths if path.is_file()), {})


def learnt_elsewhere(config: Config, sources: pa.Table | None) -> list[str]:
    """What taught each method and source that speaks here and learnt nothing from these scores: a sentence each."""
    from apportion.decompose.method import PretrainedReactions
    from apportion.decompose.methods import METHODS
    from apportion.decompose.reactions.transfer import prior_for

    mixed = [] if sources is None else sources.column("source").to_pylist()
    notes = []
    for name in dict.fromkeys((*config.decompose.methods, *mixed)):
        if name in METHODS and isinstance(METHODS[name], PretrainedReactions):
            about = prior_for(config.decompose.section_of(METHODS[name])).card.told()
            notes.append(f"{name!r} is {METHODS[name].title} ({about}).")
    return notes


def missing(inputs: Inputs) -> dict[str, str]:
    """What a reader looks for and the run does not have, each with why, in the order of the chain."""
    from apportion.pipeline.report.page import LEFT_OUT

    left_out = inputs.facts["left_out"]
    return {
        title: f"{LEFT_OUT}: {left_out[stage]}" if stage in left_out else _why(stage, inputs.facts["quarantine"])
        for stage, title in SHOWN.items()
        if not inputs.artifacts(stage)
    }


def _why(stage: str, quarantine: Sequence[Mapping[str, Any]]) -> str:
    causes = [f"{row['status']}: {row['cause']}" for row in quarantine if row["stage"] == stage]
    if not causes:
        return "there was nothing to make it of"
    return causes[0] + (f" ({len(causes) - 1} more below)" if len(causes) > 1 else "")


REPORT = Stage(
    "report",
    _report,
    needs=("split", "verbalize", "fit", "rewards", "slices", "train-reward", "evaluate", "align", "stability"),
    per="corpus",
    version=7,
    help="Write the report: one self-contained HTML page.",
    settings=lambda config, unit: {"config": shown_config(config)},
    spares=("verbalize", "fit", "rewards", "slices", "train-reward", "evaluate", "align", "stability"),
    facts=("versions", "quarantine", "warnings", "recordings", "left_out", "unfinished", "lineage"),
)
