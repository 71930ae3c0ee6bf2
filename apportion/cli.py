"""The command line: `apportion COMMAND`. Each command imports what it needs only when it runs."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
from collections.abc import Sequence

import click

from apportion.commands.shared.in_order import CommandsInOrder
from apportion.foundation.errors import ApportionError, InputError
from apportion.foundation.lazy import LazyMapping, named
from apportion.hints import hint_for

EXIT_FAILED, EXIT_USAGE, EXIT_INTERRUPTED = 1, 2, 130
LESS_MEMORY = "Split the input, lower run.workers, or use a machine with more of it; what is finished is kept."
GOES_ON = "What is finished is kept: run the same command again to go on."
CARD_MEMORY = ("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")
"""PyTorch's memory on a card in segments that grow. In fixed ones the keys and values of a reply, longer by a token at
each step, fit no block that they have left: three times what is needed was held (docs/evidence/alignment.md)."""


@click.group(
    cls=CommandsInOrder,
    epilog="Completion in bash, zsh and fish: docs/guides/install.md, or for this bash: eval "
    '"$(_APPORTION_COMPLETE=bash_source apportion)"',
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(package_name="apportion")
def cli() -> None:
    """Turn one score per conversation into a reward for every turn.

    Start with `apportion start FILE` (what it is, and first rewards), or step by step with `apportion import` (your
    data to a corpus), `apportion init` (a configuration for it) and `apportion run` (rewards, reward model,
    evaluation, aligned policy, report). `apportion demo` shows it all on the bundled synthetic corpus.
    """


COMMANDS = {
    "doctor": "machine:doctor_command",
    "demo": "runs:demo_command",
    "start": "start:start_command",
    "import": "corpus:import_command",
    "inspect": "corpus:inspect_command",
    "init": "init:init_command",
    "run": "runs:run_command",
    "status": "view.status:status_command",
    "view": "view.view:view_command",
    "export": "export:export_command",
    "policy": "groups:policy_group",
    "world": "groups:world_group",
    "study": "study.group:study_group",
    "label": "groups:label_group",
    "probe": "probe:probe_command",
    "benchmark": "benchmark:benchmark_command",
    "train": "groups:train_group",
    "models": "models:models_group",
}
"""Where each command is, below `apportion.commands`: it is imported when it is asked for, or when all are listed."""
FURTHER = ("probe", "benchmark", "train", "models")
cli.commands = LazyMapping(COMMANDS, lambda name: named(f"apportion.commands.{COMMANDS[name]}"))  # type: ignore[assignment]
cli.sections = {"Commands": [name for name in COMMANDS if name not in FURTHER], "Further commands": [*FURTHER]}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command; exit code 2 for usage and unusable input, 1 for failed work, 130 for Ctrl-C."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # What the encoding of a pipe cannot hold (cp1252 on Windows) is escaped, as Python does for stderr.
        sys.stdout.reconfigure(errors="backslashreplace")
    # Before torch is imported, which reads it; what a person has set stays.
    if "PYTORCH_ALLOC_CONF" not in os.environ:
        os.environ.setdefault(*CARD_MEMORY)
    try:
        code = cli.main(args=arguments, prog_name="apportion", standalone_mode=False)
    except click.exceptions.Abort as stop:
        if threading.active_count() == 1:  # Nothing is waited for any more: another Ctrl-C does not change the code.
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        _end(f"stopped. {str(stop) or GOES_ON}", EXIT_INTERRUPTED)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except ApportionError as error:
        code = EXIT_USAGE if isinstance(error, InputError) else EXIT_FAILED
        _end(f"error: {error}{hint_for(error, _options(arguments))}", code)
    except MemoryError:
        _end(f"error: memory ran out. {LESS_MEMORY}", EXIT_FAILED)
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
    if (mirrors := sys.modules.get("apportion.corpus.recordings.mirrored")) is not None:
        message = mirrors.in_words(message)
    click.echo(message, err=True)
    sys.exit(code)
