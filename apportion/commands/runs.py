"""`apportion init`, `run`, `demo` and one command a stage; the stages come from `pipeline.stages.declared`."""

from __future__ import annotations

import json
import math
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from apportion.commands.options import with_options
from foundation.errors import InputError

if TYPE_CHECKING:
    from pipeline.config import Config

DEMO_CONFIG = Path(__file__).resolve().parents[2] / "demo" / "demo.toml"

RUN_OPTIONS = (
    click.option("--dry-run", is_flag=True, help="Say what would be done and stop."),
    click.option("--limit", type=click.IntRange(min=1), help="Use only the first N sessions."),
    click.option("--workers", type=click.IntRange(min=1), help="Worker processes; by default one a core."),
    click.option(
        "--emotion-model",
        metavar="FILE",
        help="ONNX file of the eight emotions, or `auto` or `none`; goes before features.emotion_model.",
    ),
    click.option(
        "--samples",
        type=click.IntRange(1, 100),
        metavar="K",
        help="Ask the language model K times; mean and spread are kept. Goes before decompose.llm.samples.",
    ),
    click.option("--allow-quarantine", is_flag=True, help="Exit with 0 though some sessions could not be processed."),
    click.option("--json", "as_json", is_flag=True, help="Print the result as JSON and no progress."),
)


LLM_OPTIONS = (
    click.option(
        "--preview",
        type=click.IntRange(min=1),
        metavar="N",
        help="Show the first N requests to the language model word for word, and stop.",
    ),
    click.option(
        "--send-to",
        metavar="HOST",
        help="Your consent to send conversation text to HOST, the host of decompose.llm.base_url; goes before "
        "decompose.llm.send_to.",
    ),
    click.option(
        "--pseudonyms",
        is_flag=True,
        help="Show the language model other names than the speakers'; results have the real ones.",
    ),
    click.option(
        "--budget",
        type=click.FloatRange(min=0, min_open=True),
        metavar="USD",
        help="Stop before all that was ever paid into the reply cache passes USD; goes before run.budget_usd.",
    ),
    click.option(
        "--record",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="Write the language model's replies to FILE, to serve as recorded replies; goes before run.record.",
    ),
    click.option(
        "--batch",
        is_flag=True,
        help="Ask the language model through the Batch API, for half the price: hands in, or collects what is ready. "
        "Run the same command until it ends with 0; 3 means that a batch has to be waited for.",
    ),
    click.option("--forget-batch", metavar="ID", help="Give up a batch that cannot be collected any more, and stop."),
)
"""What commands have that may ask a language model, themselves or for a stage that they read."""
ALIGNING = {
    "ppo": "PPO: rewards by token, values learned beside the policy.",
    "grpo": "GRPO by TRL: several replies to one context are compared.",
    "rloo": "RLOO by TRL: each reply is compared with the others' mean.",
    "sft": "SFT by TRL: learn what the targets said.",
}
AUDIT_OPTIONS = (
    click.option(
        "--sessions",
        type=click.IntRange(min=1),
        metavar="N",
        help="Sessions to ask about; goes before decompose.audit.sessions.  [default: 20]",
    ),
)


class CommandWithMore(click.Command):
    """A command with arguments of its own and commands below it: `decompose CONFIG`, `decompose audit CONFIG`."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.more: dict[str, click.Command] = {}

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """The context of the command below that the first argument names, else of this one."""
        if args and args[0] in self.more:
            return self.more[args[0]].make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)
        if self.more and len(args) > 1 and not any(argument.startswith("-") for argument in args[:2]):
            raise click.UsageError(f"{args[0]!r} is none of: {', '.join(self.more)}; or give CONFIG alone.")
        return super().make_context(info_name, args, parent, **extra)

    def format_epilog(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands below."""
        super().format_epilog(context, formatter)
        if self.more:
            with formatter.section("Commands"):
                rows = [(f"{name} CONFIG", command.get_short_help_str(80)) for name, command in self.more.items()]
                formatter.write_dl(rows)


def _with_run_options(command: Any) -> Any:
    return with_options(RUN_OPTIONS, command)


def _with_llm_options(command: Any) -> Any:
    return with_options(LLM_OPTIONS, command)


@click.command("init")
@click.argument("corpus", type=click.Path(path_type=Path))
@click.option("--output", "-o", type=click.Path(path_type=Path), default=Path("apportion.toml"), show_default=True)
@click.option("--rating", help="Which rating to decompose, where the corpus has several.")
@click.option("--force", is_flag=True, help="Replace the file if it is there.")
def init_command(corpus: Path, output: Path, rating: str | None, force: bool) -> None:
    """Write a commented configuration for CORPUS."""
    from corpus.corpus import Corpus
    from foundation.files import write_atomically
    from pipeline.template import render_template

    if output.exists() and not force:
        raise InputError(f"{output} exists. Use --force to replace it, or --output for another name.")
    names = sorted(set(Corpus.open(corpus).ratings.column("name").to_pylist()))
    if rating is not None and rating not in names:
        raise InputError(f"--rating {rating!r}: {corpus} has {', '.join(names) or 'no ratings'}.")
    values = {
        "corpus": corpus.resolve(),
        "output": f"runs/{corpus.resolve().name}",
        "rating": rating or next(iter(names), None),
    }
    try:
        write_atomically(output, render_template(values))
    except OSError as error:
        raise InputError(
            f"{output}: cannot be written ({error.strerror}). Choose another place with --output."
        ) from None
    click.echo(f"wrote {output}")
    if len(names) > 1 and rating is None:
        click.echo(
            f"the corpus has several ratings ({', '.join(names)}); {output} chooses {names[0]!r}: change it there"
        )
    click.echo(f"next: apportion run {output} --dry-run")


@click.command("run")
@click.argument("config", type=click.Path(path_type=Path))
@_with_llm_options
@_with_run_options
def run_command(config: Path, **options: Any) -> None:
    """Run all stages of CONFIG: features to report. Finished work is never done twice."""
    from pipeline.config import load_config
    from pipeline.stages.declared import STAGES

    _run(load_config(config), [stage.name for stage in STAGES], str(config), "run", **options)


@click.command("demo")
@click.option("--output", "-o", type=click.Path(path_type=Path), help="The run folder.  [default: runs/demo]")
@_with_run_options
def demo_command(output: Path | None, **options: Any) -> None:
    """Run all stages on the bundled demo corpus (synthetic) with recorded LLM replies."""
    from pipeline.config import load_config
    from pipeline.stages.declared import STAGES

    if not DEMO_CONFIG.is_file():
        raise InputError(f"{DEMO_CONFIG} is missing, which comes with apportion: install it again.")
    config = load_config(DEMO_CONFIG).model_copy(update={"output": (output or Path("runs/demo")).resolve()})
    _run(config, [stage.name for stage in STAGES], str(DEMO_CONFIG), "run", **options)


def stage_commands() -> list[click.Command]:
    """One command for each name in the tuple of stages; those of one name run together."""
    from pipeline.stages.declared import STAGES
    from rlhf.settings import ALGORITHMS

    names: dict[str, list[str]] = {}
    helps: dict[str, str] = {}
    for stage in STAGES:
        names.setdefault(stage.cli, []).append(stage.name)
        if stage.help:
            helps.setdefault(stage.cli, stage.help)
    commands = {name: _stage_command(name, stages, helps.get(name, "")) for name, stages in names.items()}
    for name in [name for name in commands if " " in name]:
        first, _, second = name.partition(" ")
        commands[first].more[second] = commands.pop(name)
    for algorithm in ALGORITHMS:
        commands["align"].more[algorithm] = _stage_command(
            f"align {algorithm}", names["align"], f"{ALIGNING[algorithm]} Goes before align.algorithm."
        )
    return list(commands.values())


def _stage_command(name: str, stages: Sequence[str], text: str) -> CommandWithMore:
    @click.command(
        name.rpartition(" ")[2],
        cls=CommandWithMore,
        help=f"{text}\n\nStages that it reads are run first where their output is missing.",
    )
    @click.argument("config", type=click.Path(path_type=Path))
    @_with_run_options
    def command(config: Path, sessions: int | None = None, **options: Any) -> None:
        from pipeline.config import load_config

        loaded = load_config(config)
        if "audit" in stages:
            loaded = loaded.with_audit(sessions)
        if name.startswith("align "):
            loaded = loaded.with_algorithm(name.removeprefix("align "))
        _run(loaded, stages, str(config), name, **options)

    if "audit" in stages:
        command = with_options(AUDIT_OPTIONS, command)
    return _with_llm_options(command) if _may_ask(stages) else command


def _may_ask(stages: Sequence[str]) -> bool:
    from pipeline.stages.declared import ASKING, STAGES

    needed = set(stages)
    for stage in reversed(STAGES):
        if stage.name in needed:
            needed.update(stage.needs)
    return not needed.isdisjoint(ASKING)


def _run(
    config: Config,
    stages: Sequence[str],
    source: str,
    command: str,
    *,
    dry_run: bool,
    limit: int | None,
    workers: int | None,
    emotion_model: str | None,
    samples: int | None,
    allow_quarantine: bool,
    as_json: bool,
    budget: float | None = None,
    batch: bool = False,
    forget_batch: str | None = None,
    record: Path | None = None,
    preview: int | None = None,
    send_to: str | None = None,
    pseudonyms: bool = False,
) -> None:
    from pipeline.running.local import dry_run_text, preview_text, run_locally

    if budget is not None and not math.isfinite(budget):
        raise InputError(f"--budget {budget}: give a number of US dollars.")
    config = config.with_run(limit=limit, workers=workers, budget_usd=budget, record=record and record.absolute())
    if emotion_model is not None:
        config = config.with_emotion_model(emotion_model, Path.cwd())
        source = f"{source} --emotion-model {shlex.quote(emotion_model)}"
    config = config.with_llm(send_to=send_to, pseudonyms=pseudonyms or None)
    source += f" --send-to {shlex.quote(send_to)}" if send_to else ""
    source += " --pseudonyms" if pseudonyms else ""
    if samples is not None:
        config = config.with_samples(samples)
        source = f"{source} --samples {samples}"
    if preview is not None:
        click.echo(preview_text(config, stages, preview, as_json=as_json))
        return
    if forget_batch is not None:
        _forget_batch(config, forget_batch, f"apportion {command} {source} --batch")
        return
    if dry_run:
        click.echo(dry_run_text(config, stages, as_json=as_json, batch=batch))
        return
    summary = run_locally(config, stages, quiet=as_json, batch=batch)
    if as_json:
        click.echo(json.dumps(summary.to_json(), indent=1, sort_keys=True))
    else:
        click.echo(f"{summary.text()}\n{summary.next_step(source, command)}")
    sys.exit(summary.exit_code(allow_quarantine=allow_quarantine))


def _forget_batch(config: Config, batch_id: str, again: str) -> None:
    from pipeline.asking.batching import forget_batch

    click.echo(f"gave up {batch_id}: {forget_batch(config, batch_id):,} requests may be asked again")
    click.echo(f"next: {again}")
