"""`apportion export`: a run's tables for other programs; `apportion policy merge`: a policy as a whole model."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import click

from apportion.commands.shared.options import CORPUS, PATH, json_option
from apportion.commands.shared.places import unwritable


@click.command("export")
@click.argument("source", metavar="RUN_OR_CONFIG", type=PATH)
@click.option(
    "--format",
    "kind",
    type=click.Choice(["eaf", "textgrid", "dataset"]),
    help="ELAN, Praat, or a Hugging Face dataset of messages and rewards.",
)
@click.option(
    "--for",
    "target",
    type=click.Choice(["verl", "openrlhf", "skyrl", "atropos", "prime-rl", "nemo-rl", "rllm"]),
    help="In place of --format: prompts and turn rewards in this trainer's columns.",
)
@click.option("--out", "-o", type=PATH, required=True, help="The folder for the files.")
@click.option("--session", "sessions", multiple=True, metavar="ID", help="Only this session; may be given again.")
@click.option("--method", "methods", multiple=True, metavar="NAME", help="Only this method's rewards (dataset, --for).")
@click.option("--corpus", type=CORPUS, help="The run's corpus, where RUN_OR_CONFIG is a run folder.")
@click.option("--force", is_flag=True, help="Replace files that are there and differ.")
@json_option(quiet=True)
def export_command(
    source: Path,
    kind: str | None,
    target: str | None,
    out: Path,
    sessions: tuple[str, ...],
    methods: tuple[str, ...],
    corpus: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Write one ELAN (.eaf) or Praat (.TextGrid) file a session, or a run's rewards for other trainers.

    A tier a speaker holds the utterances, a tier a person and feature the behaviour, a tier a rater and window the
    descriptors. RUN_OR_CONFIG is the configuration of a finished run, or its folder together with --corpus. Exit
    code 1 where a session could not be exported.
    """
    from apportion.pipeline.engine.progress import StageProgress
    from apportion.pipeline.results.annotation_files import ExportReport, export_run
    from apportion.pipeline.results.dataset import DatasetReport, export_dataset
    from apportion.pipeline.results.run_folder import open_run
    from apportion.pipeline.results.trainer_rows import export_rows

    if (kind is None) == (target is None):
        raise click.UsageError("give --format (eaf, textgrid, dataset) or --for TRAINER, one of the two.")
    if methods and not target and kind != "dataset":
        raise click.UsageError(f"--method goes with --format dataset, not with {kind}.")
    run = open_run(source, corpus)
    report: ExportReport | DatasetReport
    if target:
        report = export_rows(run, target, out, methods, sessions, force)
    elif kind == "dataset":
        report = export_dataset(run, out, methods, sessions, force)
    else:
        with StageProgress(quiet=as_json) as progress:
            report = export_run(run, "eaf" if kind == "eaf" else "textgrid", out, sessions, force, progress)
    click.echo(json.dumps(report.to_json(), indent=1, sort_keys=True) if as_json else str(report))
    if report.refused or (isinstance(report, ExportReport) and report.failed):
        sys.exit(1)


@click.command("merge")
@click.argument("policy")
@click.argument("out", type=PATH)
@click.option(
    "--device", type=click.Choice(["cpu", "cuda"]), default="cpu", show_default=True, help="Where it is done."
)
@click.option(
    "--dtype",
    type=click.Choice(["float32", "bfloat16"]),
    default="float32",
    show_default=True,
    help="Number format of the weights that are written.",
)
@json_option(quiet=True)
def merge_command(policy: str, out: Path, device: str, dtype: str, as_json: bool) -> None:
    """Put the adapters in the folder POLICY into their base, and write the whole model to the folder OUT.

    POLICY is what `apportion run --only align` wrote (RUN/policy). The model can be aligned again, as GRPO after SFT,
    and be loaded by any program that takes a Hugging Face model. What is at OUT is never replaced.
    """
    from apportion.rlhf.policy.folder import merge_policy
    from apportion.rlhf.policy.loading import check_device
    from apportion.rlhf.policy_settings import Placement

    placement = Placement.model_validate({"device": device, "dtype": dtype})
    check_device(placement, "--device")
    try:
        merged = merge_policy(policy, out, placement)
    except OSError as error:
        raise unwritable(out, "OUT", error) from None
    if as_json:
        click.echo(json.dumps(merged.to_json(), indent=1, sort_keys=True))
        return
    click.echo(f"wrote {out}: {merged.weights:,} weights, the adapters of {policy} in {merged.base}")
    click.echo(f"next: apportion run CONFIG --only align --algorithm grpo --policy {shlex.quote(str(out))}")
