"""`apportion run` and `apportion demo`: all stages, features to report."""

from __future__ import annotations

import shlex
from functools import partial
from pathlib import Path
from typing import Any

import click

from apportion.commands.presets import preset_given
from apportion.commands.shared.options import with_options
from apportion.commands.shared.running import run, with_llm_options, with_run_options
from apportion.foundation.errors import InputError
from apportion.pipeline.config import Config, load_config
from apportion.pipeline.engine.stage_selection import last_stages, stages_called
from apportion.pipeline.stages.registry import STAGES

DEMO_CONFIG = Path(__file__).parents[1] / "demo" / "demo.toml"


def _stage(context: click.Context, parameter: click.Parameter, given: Any) -> Any:
    """Find out whether each name is a stage's before the corpus is read."""
    for name in (given,) if isinstance(given, str) else given or ():
        try:
            stages_called(name, STAGES)
        except InputError as error:
            raise InputError(f"{parameter.opts[0]} {error}") from None
    return given


CHOICE_OPTIONS = (
    click.option(
        "--until",
        metavar="STAGE",
        callback=_stage,
        help="Leave out the stages after STAGE, e.g. `evaluate`, but for the report. Goes before run.last_stage.",
    ),
    click.option(
        "--skip",
        metavar="STAGE",
        multiple=True,
        callback=_stage,
        help="Leave STAGE out, e.g. `align`; more than once for several. Goes before run.skip_stages.",
    ),
)
with_choice_options = partial(with_options, CHOICE_OPTIONS)


@click.command("run")
@click.argument("config", type=click.Path(path_type=Path))
@with_choice_options
@with_llm_options
@with_run_options
def run_command(config: Path, preset: str | None, **options: Any) -> None:
    """Run all stages of CONFIG: features to report. Finished work is never done twice."""
    _run_all(load_config(config, preset), f"{config}{preset_given(preset)}", **options)


@click.command("demo")
@click.option("--output", "-o", type=click.Path(path_type=Path), help="The run folder.  [default: runs/demo]")
@with_choice_options
@with_run_options
def demo_command(output: Path | None, preset: str | None, **options: Any) -> None:
    """Run all stages on the bundled demo corpus (synthetic) with recorded LLM replies."""
    if not DEMO_CONFIG.is_file():
        raise InputError(f"{DEMO_CONFIG} is missing, which comes with apportion: install it again.")
    changes = {"output": (output or Path("runs/demo")).resolve()}
    config = load_config(DEMO_CONFIG, preset).model_copy(update=changes)
    _run_all(config, f"{DEMO_CONFIG}{preset_given(preset)}", **options)


def _run_all(config: Config, source: str, until: str | None, skip: tuple[str, ...], **options: Any) -> None:
    config = config.with_run(last_stage=until, skip_stages=skip or None)
    source += f" --until {shlex.quote(until)}" if until else ""
    source += "".join(f" --skip {shlex.quote(name)}" for name in skip)
    run(config, last_stages(STAGES, config.run.last_stage, config.run.skip_stages), source, "run", **options)
