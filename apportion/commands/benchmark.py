"""`apportion benchmark`: all methods on one corpus, as a table, a document and a picture."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from apportion.commands.presets import PRESET_OPTION
from apportion.commands.shared.options import CORPUS, PATH, json_option
from apportion.commands.shared.session_choice import SESSIONS_OPTION, SessionChoice


@click.command("benchmark")
@click.argument("corpus", type=CORPUS)
@click.option("--output", "-o", type=PATH, help="The run folder.  [default: runs/benchmark-NAME]")
@click.option("--rating", help="Which rating to decompose, where the corpus has several.")
@click.option(
    "--method", "methods", multiple=True, metavar="NAME", help="Only this method; may be given again and again."
)
@click.option("--seeds", type=click.IntRange(1, 100), default=3, show_default=True, help="Training seeds: 0, 1, …")
@click.option("--session", metavar="ID", help="The session to show turn by turn.  [default: a test session]")
@click.option(
    "--config",
    "-c",
    type=PATH,
    help="A configuration to take all other settings from; the methods in it that ask an LLM are compared too.",
)
@PRESET_OPTION
@click.option("--limit", type=click.IntRange(min=1), help="Use only the first N sessions.")
@SESSIONS_OPTION
@click.option("--workers", type=click.IntRange(min=1), help="Worker processes; by default one a core.")
@click.option("--allow-quarantine", is_flag=True, help="Exit with 0 though some sessions could not be processed.")
@json_option(quiet=True)
def benchmark_command(
    corpus: Path,
    output: Path | None,
    rating: str | None,
    methods: tuple[str, ...],
    seeds: int,
    session: str | None,
    config: Path | None,
    preset: str | None,
    limit: int | None,
    sessions: SessionChoice | None,
    workers: int | None,
    allow_quarantine: bool,
    as_json: bool,
) -> None:
    """Compare all methods on CORPUS: rewards, reward models, baselines, agreement with people.

    Without --method these are all registered methods that ask no language model and that the corpus can feed. Finished
    work is kept in the run folder and never done twice.
    """
    from apportion.pipeline.benchmark.benchmark import configure, write_benchmark
    from apportion.pipeline.config import Config, load_config
    from apportion.pipeline.execution.local import run_locally

    corpus = corpus.resolve()
    output = (output or Path("runs") / f"benchmark-{corpus.name}").resolve()
    plain = {"corpus": corpus} if preset is None else {"corpus": corpus, "preset": preset}
    base = Config.model_validate(plain) if config is None else load_config(config, preset)
    more = () if config is None else base.decompose.methods
    changes = {"corpus": corpus, "output": output, "rating": rating or base.rating, "seeds": tuple(range(seeds))}
    chosen = sessions and sessions.ids
    base = base.model_copy(update=changes).with_run(limit=limit, sessions=chosen, workers=workers)
    base = base.with_stages(["evaluate"])
    complete, choice = configure(base, methods, more, session)
    if not as_json:
        click.echo(f"methods: {', '.join(choice.methods)}; seeds {', '.join(map(str, complete.seeds))}", err=True)
        for name, why in choice.left_out.items():
            click.echo(f"left out: {name} ({why})", err=True)
    summary = run_locally(complete, ["evaluate"], quiet=as_json)
    files = write_benchmark(complete, choice, session)
    if as_json:
        named = {name: str(path) for name, path in files.items()}
        click.echo(json.dumps({**summary.to_json(), "benchmark": named}, indent=1, sort_keys=True))
    else:
        click.echo(summary.text())
        for name, path in files.items():
            click.echo(f"{name:<14} {path}")
        if files:
            click.echo(f"next: read {files['benchmark']}")
    if summary.quarantined and not allow_quarantine:
        sys.exit(1)
