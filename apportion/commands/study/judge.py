"""`apportion study judge`: a language model answers a study, as a column of its own beside people."""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

import click

from apportion.commands.shared.looks import LOOK_OPTIONS, looked_at
from apportion.commands.shared.options import PATH, json_option, model_options, option_names, with_options
from apportion.commands.shared.progress import shown_progress


@click.command("judge")
@click.argument("study", type=PATH, metavar="STUDY")
@json_option()
def judge_command(study: Path, as_json: bool, preview: int | None, dry_run: bool, **model: Any) -> None:
    """Let a language model answer STUDY: every item that counts, its responses in one order and in the other.

    It is told what people are told, and no policy's name. Its answers go to STUDY/judged, and `apportion study report`
    shows them in a column of their own, with how far they agree with people. Replies are kept: the same command goes
    on, and pays for none twice.
    """
    from apportion.llm_client.model_spec import ModelSpec
    from apportion.study.design.folder import StudyFolder
    from apportion.study.judge import judging

    choice = judging.JudgeChoice(StudyFolder.open(study), ModelSpec(**model), option_names())
    if looked_at(partial(judging.planned, choice), preview, dry_run, as_json):
        return
    with shown_progress("judge", "questions", as_json) as progress:
        judged = judging.judge_study(choice, progress)
    _tell(choice, judged, as_json)
    if judged.failed:
        sys.exit(1)


def _tell(choice: Any, judged: Any, as_json: bool) -> None:
    if as_json:
        told = {"answers": len(judged.rows), "failed": list(judged.failed), "moved_by_order": dict(judged.moved)}
        click.echo(json.dumps(told, indent=1, sort_keys=True))
        return
    click.echo(judged.text())
    click.echo(f"wrote {choice.out}")
    click.echo(f"next: apportion study report {choice.study.path}")


judge_command = with_options(
    (
        *model_options("--model", "contexts and responses", 2000, "replies.sqlite in STUDY/judged", "--judge"),
        *LOOK_OPTIONS,
    ),
    judge_command,
)
