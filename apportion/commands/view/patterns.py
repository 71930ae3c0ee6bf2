"""`apportion patterns`: kinds of target turns that cost something, in a finished run."""

from __future__ import annotations

import json
from pathlib import Path

import click

from apportion.commands.shared.options import json_option


@click.command("patterns")
@click.argument("source", metavar="RUN_OR_CONFIG", type=click.Path(path_type=Path))
@click.option("--method", "methods", multiple=True, metavar="NAME", help="Only this method's rewards; may be repeated.")
@click.option(
    "--corpus", type=click.Path(path_type=Path), help="The run's corpus, where it is not where run.json says."
)
@click.option(
    "--backbone",
    default="minilm",
    show_default=True,
    metavar="NAME",
    help="Embeds the turns where the run has not: minilm, or a Hugging Face model by name or folder.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of halves and clusters.")
@json_option("what was found")
def patterns_command(
    source: Path, methods: tuple[str, ...], corpus: Path | None, backbone: str, seed: int, as_json: bool
) -> None:
    """Tell what costs you: kinds of target turns whose rewards differ from the rest of their conversations.

    Turns that say alike things, cues such as a question, and places such as the last turn are looked for in one half of
    the sessions; what the other half confirms is told, the dearest first, with its interval, its share of sessions and
    examples. RUN_OR_CONFIG is a run folder or the configuration of a finished run; Markdown and JSON are written into
    RUN/patterns/, which `apportion view` shows.
    """
    from apportion.evaluation.error_slices.result import PatternSettings
    from apportion.evaluation.error_slices.table import markdown
    from apportion.pipeline.error_slices.write import write_patterns

    settings = PatternSettings(seed=seed)
    told = []
    for found in write_patterns(source, corpus, methods, settings, backbone):
        told.append(found.to_json())
        if not as_json:
            click.echo(markdown(found))
    if as_json:
        click.echo(json.dumps(told, indent=1, ensure_ascii=False))
    else:
        click.echo("next: apportion view RUN shows them with the turns themselves (the page `What costs us`)")
