"""`apportion doctor`: what this machine has for each part of the work."""

from __future__ import annotations

import json

import click

from apportion.commands.shared.options import json_option


@click.command("doctor")
@json_option("the findings")
def doctor_command(as_json: bool) -> None:
    """Tell what this machine has: cores, memory, disk, torch, GPU, models, keys (set or not, never their value)."""
    from apportion.pipeline.doctor import examine

    findings = examine()
    if as_json:
        click.echo(json.dumps([finding.__dict__ for finding in findings], indent=1, sort_keys=True))
        return
    width = max(len(finding.name) for finding in findings)
    for finding in findings:
        mark = {"ok": "ok", "missing": "--", "warning": "!!"}[finding.state]
        click.echo(f"{mark}  {finding.name:<{width}}  {finding.text}")
