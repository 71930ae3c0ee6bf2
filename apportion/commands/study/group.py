"""`apportion study`: a study with people, from the responses of policies to a table."""

from __future__ import annotations

import click

from apportion.commands.study.demo import demo_command
from apportion.commands.study.export import export_command, import_command
from apportion.commands.study.init import init_command
from apportion.commands.study.judge import judge_command
from apportion.commands.study.links import links_command
from apportion.commands.study.power import power_command
from apportion.commands.study.report import report_command
from apportion.commands.study.serve import serve_command


@click.group("study")
def study_group() -> None:
    """Let people say which policies' responses are better, without knowing whose they are.

    Start with `apportion study init` (responses to a folder that says what is asked), then `links` (one for each
    annotator) and `serve` (their pages). docs/guides/people.md tells all of it.
    """


for _command in (
    power_command, init_command, links_command, serve_command, judge_command, report_command, export_command,
    import_command, demo_command,
):  # fmt: skip
    study_group.add_command(_command)
