"""`apportion run` and `apportion demo`: all stages, features to report, or one of them."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem
from pydantic import ValidationError

from apportion.commands.presets import preset_given
from apportion.commands.shared.aligning import ALIGN_OPTIONS, aligned_as_asked
from apportion.commands.shared.options import PATH, with_options
from apportion.commands.shared.running import run, with_llm_options, with_run_options
from apportion.commands.shared.session_choice import SessionChoice
from apportion.foundation.errors import InputError
from apportion.foundation.settings import problems
from apportion.pipeline.config import Config, RunSettings, load_config
from apportion.pipeline.engine.plan import last_stages
from apportion.pipeline.stages.registry import STAGES

DEMO_CONFIG = Path(__file__).parents[1] / "demo" / "demo.toml"
SPEAKS: dict[str, Any] = {
    "policy": "smollm2", "steps": 3, "batch_size": 8, "mini_batch_size": 8, "ppo_epochs": 1, "lr": 1e-3, "beta": 0.05,
    "max_context_tokens": 96, "max_new_tokens": 24, "group_by_length": True, "samples": 4,
}  # fmt: skip
"""What the demo aligns where SmolLM2 is here: as little as makes a difference in a few minutes on one core."""
AUDIT = "audit"
CALLED = tuple(dict.fromkeys(map(STAGES.group, STAGES)))


def _stage(context: click.Context, parameter: click.Parameter, given: Any) -> Any:
    """Find out whether each name is a stage's before the corpus is read."""
    for name in (given,) if isinstance(given, str) else given or ():
        try:
            STAGES.called(name)
        except InputError as error:
            raise InputError(f"{parameter.opts[0]} {error}") from None
    return given


def _completed(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in CALLED if name.startswith(incomplete)]


_stage_option = partial(click.option, metavar="STAGE", callback=_stage, shell_complete=_completed)
ONLY_OPTION = _stage_option("--only", help="Run STAGE alone, and before it what it reads and is missing.")
CHOICE_OPTIONS = (
    _stage_option("--until", help="Leave out the stages after STAGE, but for the report."),
    _stage_option("--skip", multiple=True, help="Leave STAGE out; may be repeated."),
)


def _executor(context: click.Context, parameter: click.Parameter, given: str | None) -> str | None:
    try:
        return given and RunSettings(executor=given).executor
    except ValidationError as error:
        raise InputError(f"{'; '.join(problems(error, lambda name: '--executor'))}.") from None


@click.command("run")
@click.argument("config", type=PATH)
@ONLY_OPTION
@partial(with_options, CHOICE_OPTIONS)
@click.option("--executor", metavar="WHERE", callback=_executor, help="local, dask, dask://HOST:PORT or slurm.")
@with_run_options
@with_llm_options
@partial(with_options, ALIGN_OPTIONS)
def run_command(
    config: Path, preset: str | None, only: str | None, until: str | None, skip: tuple[str, ...], **options: Any
) -> None:
    """Run all stages of CONFIG: features to report. Finished work is never done twice.

    Options go before the configuration's keys. `--only` takes split, features, verbalize, embed, select-sessions,
    rubric, decompose, audit, train-reward, evaluate, align or report.
    """
    if only is None:
        loaded = load_config(config, preset)
    else:
        # A section without a word has nothing wrong in it, and its package need not be imported for one stage.
        loaded = load_config(config, preset, checked=())
        loaded.check_given()
    executor = options.pop("executor")
    loaded = loaded.with_run(executor=executor)
    source = f"{config}{preset_given(preset)}{f' --executor {executor}' if executor else ''}"
    if only is None:
        loaded, options["given"] = aligned_as_asked(loaded, options)
        _run_all(loaded, source, until, skip, **options)
    elif until is not None or skip:
        raise click.UsageError("--only runs one stage: leave out --until and --skip.")
    else:
        _run_one(loaded, source, only, **options)


@click.command("demo")
@click.option("--output", "-o", type=PATH, help="The run folder.  [default: runs/demo]")
@partial(with_options, CHOICE_OPTIONS)
@with_run_options
def demo_command(
    output: Path | None, preset: str | None, until: str | None, skip: tuple[str, ...], **options: Any
) -> None:
    """Run all stages on the bundled demo corpus (synthetic) with recorded LLM replies.

    The policy is SmolLM2 where `apportion models fetch smollm2` has brought it, else one made on the spot.
    """
    if not DEMO_CONFIG.is_file():
        raise InputError(f"{DEMO_CONFIG} is missing, which comes with apportion: install it again.")
    changes = {"output": (output or Path("runs/demo")).resolve()}
    config = load_config(DEMO_CONFIG, preset).model_copy(update=changes)
    if preset is None:
        config = _speaking(config)
    _run_all(config, f"{DEMO_CONFIG}{preset_given(preset)}", until, skip, **options)


def _speaking(config: Config) -> Config:
    """The demo with SmolLM2 as its policy, where that is here; on stderr, which policy it is."""
    from apportion.foundation.model_hub.text import find_text

    if find_text("smollm2") is None:
        click.echo("policy: tiny, made here; one that speaks: apportion models fetch smollm2", err=True)
        return config
    click.echo("policy: smollm2 (SmolLM2-135M-Instruct)", err=True)
    note = "The policy is SmolLM2-135M-Instruct after a few steps: they show that the chain runs."
    notes = (*(text for text in config.notes if not text.startswith("The policy is")), note)
    return config.with_align(Path.cwd(), **SPEAKS).model_copy(update={"notes": notes})


def _run_all(config: Config, source: str, until: str | None, skip: Sequence[str], **options: Any) -> None:
    config = config.with_run(last_stage=until, skip_stages=tuple(skip) or None)
    source += f" --until {shlex.quote(until)}" if until else ""
    source += "".join(f" --skip {shlex.quote(name)}" for name in skip)
    run(config, last_stages(STAGES, config.run.last_stage, config.run.skip_stages), source, **options)


def _run_one(config: Config, source: str, only: str, sessions: SessionChoice | None, **options: Any) -> None:
    # Whoever asks for a stage wants it, whatever a whole run leaves out.
    stages = [name for name in STAGES if STAGES.group(name) == only] or list(STAGES.called(only))
    config = config.with_stages([*stages, only])
    if AUDIT in stages:
        sessions = sessions and sessions.of_audit()
        config = config.with_audit(sessions.audited if sessions else None)
    config, options["given"] = aligned_as_asked(config, options)
    run(config, stages, source, only=only, sessions=sessions, **options)
