"""One command a stage, and those below `align` and `decompose`; the stages come from `pipeline.stages.registry`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from apportion.commands.presets import preset_given
from apportion.commands.shared.aligning import ALIGN_OPTIONS, aligned_as_asked
from apportion.commands.shared.options import with_options
from apportion.commands.shared.running import run, with_audit_options, with_llm_options, with_run_options
from apportion.commands.shared.session_choice import SessionChoice
from apportion.pipeline.config import load_config
from apportion.pipeline.stages.registry import ASKING, STAGES
from apportion.rlhf.algorithms import ALGORITHMS


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


def _below_or_file(context: click.Context, argument: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """What Tab offers in place of CONFIG: the names of the commands below, and files."""
    more = getattr(context.command, "more", {})
    names = [CompletionItem(name) for name in more if name.startswith(incomplete)]
    # Files first: bash's script begins anew where it is told to offer them.
    return argument.type.shell_complete(context, argument, incomplete) + names


def stage_commands() -> list[click.Command]:
    """One command for each name in the tuple of stages; those of one name run together."""
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
    for algorithm, row in ALGORITHMS.items():
        commands["align"].more[algorithm] = _stage_command(
            f"align {algorithm}", names["align"], f"{row.help} Goes before align.algorithm."
        )
    return list(commands.values())


def _stage_command(name: str, stages: Sequence[str], text: str) -> CommandWithMore:
    @click.command(
        name.rpartition(" ")[2],
        cls=CommandWithMore,
        help=f"{text}\n\nStages that it reads are run first where their output is missing.",
    )
    @click.argument("config", type=click.Path(path_type=Path), shell_complete=_below_or_file)
    @(with_audit_options if "audit" in stages else with_run_options)
    def command(config: Path, preset: str | None, sessions: SessionChoice | None, **options: Any) -> None:
        # Whoever calls a stage by its own command wants it, whatever a whole run leaves out.
        loaded = load_config(config, preset).with_stages([*stages, name.partition(" ")[0]])
        if "audit" in stages:
            loaded = loaded.with_audit(sessions.audited if sessions else None)
        if name.startswith("align "):
            loaded = loaded.with_algorithm(name.removeprefix("align "))
        if "align" in stages:
            loaded, given = aligned_as_asked(loaded, options)
            options["given"] = given
        run(loaded, stages, f"{config}{preset_given(preset)}", name, sessions=sessions, **options)

    if "align" in stages:
        command = with_options(ALIGN_OPTIONS, command)
    return with_llm_options(command) if _may_ask(stages) else command


def _may_ask(stages: Sequence[str]) -> bool:
    needed = set(stages)
    for stage in reversed(STAGES):
        if stage.name in needed:
            needed.update(stage.needs)
    return not needed.isdisjoint(ASKING)
