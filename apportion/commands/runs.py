"""`apportion run` and `apportion demo`: all stages, features to report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from apportion.commands.running import run, with_llm_options, with_run_options
from foundation.errors import InputError
from pipeline.config import load_config
from pipeline.stages.declared import STAGES

DEMO_CONFIG = Path(__file__).resolve().parents[2] / "demo" / "demo.toml"


@click.command("run")
@click.argument("config", type=click.Path(path_type=Path))
@with_llm_options
@with_run_options
def run_command(config: Path, **options: Any) -> None:
    """Run all stages of CONFIG: features to report. Finished work is never done twice."""
    run(load_config(config), [stage.name for stage in STAGES], str(config), "run", **options)


@click.command("demo")
@click.option("--output", "-o", type=click.Path(path_type=Path), help="The run folder.  [default: runs/demo]")
@with_run_options
def demo_command(output: Path | None, **options: Any) -> None:
    """Run all stages on the bundled demo corpus (synthetic) with recorded LLM replies."""
    if not DEMO_CONFIG.is_file():
        raise InputError(f"{DEMO_CONFIG} is missing, which comes with apportion: install it again.")
    config = load_config(DEMO_CONFIG).model_copy(update={"output": (output or Path("runs/demo")).resolve()})
    run(config, [stage.name for stage in STAGES], str(DEMO_CONFIG), "run", **options)
