"""The stage `report`: everything that a run made, as one page."""

from __future__ import annotations

import json

from pipeline.config import Config, shown_config
from pipeline.engine.stage import Inputs, Outputs, Stage, Work


def _report(inputs: Inputs, config: Config, work: Work) -> Outputs:
    """Everything a run made to one HTML page."""
    from pipeline.engine.curves import training_curves
    from pipeline.report.page import ReportInputs, Sample, render_report

    (evaluated,) = inputs.artifacts("evaluate")
    samples = inputs.table("align", "samples")
    audits = [artifact.document("audit") for artifact in inputs.artifacts("stability")]
    page = render_report(
        ReportInputs(
            evaluation=evaluated.document("evaluation"),
            rewards=inputs.required("rewards", "rewards"),
            episodes=inputs.episodes(config.rating),
            splits=inputs.required("split", "splits"),
            descriptors=inputs.table("describe", "descriptors"),
            histories=training_curves(inputs.upstream),
            samples=tuple(Sample(**row) for row in samples.to_pylist()) if samples is not None else (),
            quarantine=tuple(inputs.facts["quarantine"]),
            warnings=tuple(inputs.facts["warnings"]),
            config=json.dumps(shown_config(config), indent=1, sort_keys=True),
            versions=inputs.facts["versions"],
            notes=config.notes,
            audit=audits[0]["table"] if audits else None,
        )
    )
    (work.out / "report.html").write_text(page, encoding="utf-8")
    return Outputs()


REPORT = Stage(
    "report",
    _report,
    needs=("split", "describe", "fit", "rewards", "train-reward", "evaluate", "align", "stability"),
    per="corpus",
    help="Write the report: one self-contained HTML page.",
    settings=lambda config, unit: {"config": shown_config(config)},
    facts=("versions", "quarantine", "warnings"),
)
