"""The command line: `apportion COMMAND`. Each command imports what it needs only when it runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from apportion.commands import benchmark as benchmark_commands
from apportion.commands import compare as compare_commands
from apportion.commands import corpus as corpus_commands
from apportion.commands import export as export_commands
from apportion.commands import generate as generate_commands
from apportion.commands import init as init_commands
from apportion.commands import llm_cache, machine, models, runs, stages
from apportion.commands import probe as probe_commands
from apportion.commands import score as score_commands
from apportion.commands import train_agent as train_agent_commands
from apportion.commands.reactions import reactions as learning_commands
from apportion.commands.refine import group as refine_commands
from apportion.commands.shared.in_order import CommandsInOrder
from apportion.commands.study import group as study_commands
from apportion.commands.view import bundle as bundle_commands
from apportion.commands.view import labels as label_commands
from apportion.commands.view import view as view_commands
from apportion.commands.world import annotate as annotate_commands
from apportion.commands.world import deduction as deduction_commands
from apportion.commands.world import judge as judge_commands
from apportion.commands.world import label_exact as label_exact_commands
from apportion.commands.world import leagues as league_commands
from apportion.commands.world import negotiate as negotiate_commands
from apportion.commands.world import play as play_commands
from apportion.commands.world import simulate as simulate_commands
from apportion.commands.world import stackelberg_tables as stackelberg_commands
from apportion.commands.world import tables as tables_commands
from apportion.commands.world import tournament as tournament_commands
from apportion.commands.world import trained_tables as trained_commands
from apportion.commands.world.task_sets import tasks as tasks_commands
from apportion.foundation.errors import ApportionError, InputError
from apportion.hints import hint_for

EXIT_FAILED, EXIT_USAGE, EXIT_INTERRUPTED = 1, 2, 130
GOES_ON = "What is finished is kept: run the same command again to go on."


@click.group(
    cls=CommandsInOrder,
    epilog="Completion in bash, zsh and fish: docs/install.md, or for this bash: eval "
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


play_commands.play_group.add_command(negotiate_commands.play_negotiation_command)
for kind, title in deduction_commands.DEDUCTION.items():
    simulate_commands.simulate_group.add_command(deduction_commands.simulate_command(kind, title))
    play_commands.play_group.add_command(deduction_commands.play_command(kind, title))
    tournament_commands.tournament_group.add_command(league_commands.league_command(kind, title))
cli.add_section("Look around", (machine.doctor_command, runs.demo_command, probe_commands.probe_command))
cli.add_section(
    "Your data",
    (
        corpus_commands.import_command,
        tasks_commands.tasks_group,
        simulate_commands.simulate_group,
        play_commands.play_group,
        annotate_commands.annotate_group,
        tournament_commands.tournament_group,
        train_agent_commands.train_agent_group,
        refine_commands.refine_group,
        judge_commands.judge_command,
        label_exact_commands.label_exact_command,
        corpus_commands.inspect_command,
        init_commands.init_command,
    ),
)
cli.add_section("The whole chain", (runs.run_command, benchmark_commands.benchmark_command))
cli.add_section("Its stages, one by one", stages.stage_commands())
cli.add_section(
    "With what came of it",
    (
        view_commands.view_command,
        bundle_commands.bundle_command,
        label_commands.labels_group,
        score_commands.score_command,
        generate_commands.generate_command,
        compare_commands.compare_command,
        study_commands.study_group,
        export_commands.export_command,
        export_commands.merge_command,
        tables_commands.tables_group,
    ),
)
tables_commands.tables_group.add_command(trained_commands.tables_savoir_command)
tables_commands.tables_group.add_command(trained_commands.tables_people_command)
tables_commands.tables_group.add_command(stackelberg_commands.tables_stackelberg_command)
cli.add_section("Models and replies", (models.models_group, learning_commands.learn_command, llm_cache.llm_cache_group))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command; exit code 2 for usage and unusable input, 1 for failed work, 130 for Ctrl-C."""
    try:
        code = cli.main(args=arguments, prog_name="apportion", standalone_mode=False)
    except click.exceptions.Abort as stop:
        _end(f"stopped. {str(stop) or GOES_ON}", EXIT_INTERRUPTED)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except InputError as error:
        _end(f"error: {error}{hint_for(error, _options(arguments))}", EXIT_USAGE)
    except ApportionError as error:
        _end(f"error: {error}{hint_for(error, _options(arguments))}", EXIT_FAILED)
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
