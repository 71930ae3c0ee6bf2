"""The command line: `apportion COMMAND`. Each command imports what it needs only when it runs."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

import click

from apportion.commands import compare, corpus, export, generate, machine, models, probe, runs, train_agent, train_model
from apportion.commands.benchmark import benchmark_command
from apportion.commands.init import init_command
from apportion.commands.reactions.reactions import learn_command
from apportion.commands.refine.instances import instances_command
from apportion.commands.refine.persuasion import persuasion_command
from apportion.commands.refine.train import refiner_command
from apportion.commands.score import score_command
from apportion.commands.shared.in_order import CommandsInOrder
from apportion.commands.study.group import study_group
from apportion.commands.view import labels
from apportion.commands.view.view import view_command
from apportion.commands.world import deduction
from apportion.commands.world.annotate import expert_command
from apportion.commands.world.judge import evaluate_command
from apportion.commands.world.label_exact import shapley_command
from apportion.commands.world.leagues import league_command
from apportion.commands.world.negotiate import play_negotiation_command
from apportion.commands.world.play import play_group
from apportion.commands.world.simulate import simulate_group
from apportion.commands.world.stackelberg_tables import tables_stackelberg_command
from apportion.commands.world.tables import tables_group
from apportion.commands.world.task_sets.tasks import tasks_group
from apportion.commands.world.tournament import tournament_group
from apportion.commands.world.trained_tables import tables_people_command, tables_savoir_command
from apportion.foundation.errors import ApportionError, InputError
from apportion.hints import hint_for

EXIT_FAILED, EXIT_USAGE, EXIT_INTERRUPTED = 1, 2, 130
GOES_ON = "What is finished is kept: run the same command again to go on."


@click.group(
    cls=CommandsInOrder,
    epilog="Completion in bash, zsh and fish: docs/guides/install.md, or for this bash: eval "
    '"$(_APPORTION_COMPLETE=bash_source apportion)"',
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(package_name="apportion")
def cli() -> None:
    """Turn one score per conversation into a reward for every turn.

    Start with `apportion import` (your data to a corpus), `apportion init` (a configuration for it) and
    `apportion run` (rewards, reward model, evaluation, aligned policy, report). `apportion demo` shows it all on
    the bundled synthetic corpus.
    """


def _group(name: str, text: str, commands: Iterable[click.Command]) -> CommandsInOrder:
    group = CommandsInOrder(name, help=text)
    group.add_section("Commands", tuple(commands))
    return group


play_group.add_command(play_negotiation_command)
for kind, title in deduction.DEDUCTION.items():
    simulate_group.add_command(deduction.simulate_command(kind, title))
    play_group.add_command(deduction.play_command(kind, title))
    tournament_group.add_command(league_command(kind, title))
for _command in (tables_savoir_command, tables_people_command, tables_stackelberg_command):
    tables_group.add_command(_command)
cli.add_section(
    "Commands",
    (
        machine.doctor_command,
        runs.demo_command,
        corpus.import_command,
        corpus.inspect_command,
        init_command,
        runs.run_command,
        view_command,
        export.export_command,
        _group(
            "policy",
            "Sample responses of policies, compare them, or merge adapters into a whole model.",
            (generate.generate_command, compare.compare_command, export.merge_command),
        ),
        _group(
            "world",
            "Simulate dialogues, take part in them, score them, and make tables of them.",
            (simulate_group, play_group, tournament_group, tasks_group, evaluate_command, tables_group),
        ),
        study_group,
        _group(
            "label",
            "Labels of turns: by people, by an expert whom a training asks, or computed.",
            (
                labels.merge_command,
                labels.export_command,
                labels.import_command,
                expert_command,
                shapley_command,
            ),
        ),
    ),
)
cli.add_section(
    "Further commands",
    (
        probe.probe_command,
        benchmark_command,
        score_command,
        _group(
            "train",
            "Train what a configuration or a world can use: negotiators, Refiners, models of reactions, voices, texts.",
            (
                train_agent.train_negotiation_command,
                refiner_command,
                instances_command,
                persuasion_command,
                learn_command,
                *train_model.TRAIN_COMMANDS,
            ),
        ),
        models.models_group,
    ),
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command; exit code 2 for usage and unusable input, 1 for failed work, 130 for Ctrl-C."""
    try:
        code = cli.main(args=arguments, prog_name="apportion", standalone_mode=False)
    except click.exceptions.Abort as stop:
        _end(f"stopped. {str(stop) or GOES_ON}", EXIT_INTERRUPTED)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except ApportionError as error:
        code = EXIT_USAGE if isinstance(error, InputError) else EXIT_FAILED
        _end(f"error: {error}{hint_for(error, _options(arguments))}", code)
    except BrokenPipeError:
        # The reader of our output (head, less) has what it wanted.
        sys.stdout = None
        sys.exit(EXIT_FAILED)
    sys.exit(code if isinstance(code, int) else 0)


def _options(arguments: Sequence[str] | None) -> set[str]:
    """The options of the command that ``arguments`` name."""
    command: click.Command = cli
    for argument in sys.argv[1:] if arguments is None else arguments:
        command = command.commands.get(argument, command) if isinstance(command, click.Group) else command
    return {option for parameter in command.params for option in parameter.opts}


def _end(message: str, code: int) -> None:
    click.echo(message, err=True)
    sys.exit(code)
