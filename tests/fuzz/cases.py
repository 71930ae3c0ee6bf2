"""One damaged source or configuration given to the command line in this process, and how that ended."""

import io
import logging
import os
import shlex
import shutil
import signal
import traceback
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from types import FrameType

from apportion.cli import main
from apportion.pipeline import assembly
from tests.behaviour.small import write_small_corpus
from tests.fuzz.command_lines import command_line
from tests.fuzz.configurations import write_configuration
from tests.fuzz.mutations import damage, write
from tests.fuzz.seeds import Seed, seeds

MOST_SECONDS = 10.0
"""Of computing, after which a command hangs; what waits for something computes nothing and has `MOST_WAITING`."""
MOST_WAITING = 60.0
"""Seconds on the clock, which a busy machine makes many of."""
EXIT_CODES = (0, 1, 2)
UNSETTLED = "the account does not add up"
MEMORY = Path("/dev/shm")


class HungError(Exception):
    """A command has not come to its end."""


@dataclass
class Outcome:
    """How many commands ended with which exit code, and what went wrong: the place, then the first case and its end."""

    codes: Counter[int] = field(default_factory=Counter)
    faults: dict[str, str] = field(default_factory=dict)
    cases: int = 0

    def fault(self, place: str, case: str, what: str) -> None:
        """Keep the first case of each place."""
        self.faults.setdefault(place, f"{case}\n{what}")

    def __str__(self) -> str:
        codes = ", ".join(f"{many:,} x {code}" for code, many in sorted(self.codes.items()))
        return f"{self.cases:,} cases; exit codes {codes}; {len(self.faults)} faults"


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder in memory where there is such: a disk's syncs are not what is looked at."""
    with TemporaryDirectory(dir=MEMORY if os.access(MEMORY, os.W_OK) else None) as folder:
        yield Path(folder)


@contextmanager
def quiet() -> Iterator[None]:
    """Libraries say nothing of what is wrong with a recording or a number."""
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)


@contextmanager
def limited() -> Iterator[None]:
    """End what hangs."""

    def hung(number: int, frame: FrameType | None) -> None:
        raise HungError(f"no end after {MOST_SECONDS:g} s of computing or {MOST_WAITING:g} s of waiting")

    limits = ((signal.SIGPROF, signal.ITIMER_PROF, MOST_SECONDS), (signal.SIGALRM, signal.ITIMER_REAL, MOST_WAITING))
    before = [signal.signal(number, hung) for number, _, _ in limits]
    for _, timer, seconds in limits:
        signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        for (number, timer, _), handler in zip(limits, before, strict=True):
            signal.setitimer(timer, 0)
            signal.signal(number, handler)


@cache
def warm() -> None:
    """Load what a command loads when it is first run, which takes longer than any case may."""
    with TemporaryDirectory() as folder, redirect_stdout(io.StringIO()):
        corpus = write_small_corpus(Path(folder) / "corpus", sessions=8)
        for command in (["init", str(corpus), "-o", f"{folder}/a.toml"], ["run", f"{folder}/a.toml", "--dry-run"]):
            with suppress(SystemExit):
                main(command)


def run(arguments: list[str], case: str, outcome: Outcome) -> int | None:
    """The exit code of `apportion ARGUMENTS`; None for a traceback or a command that hangs, which ``outcome`` keeps."""
    said, code = io.StringIO(), 0

    try:
        with limited(), redirect_stdout(said), redirect_stderr(said):
            main(arguments)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0
    except BaseException as error:  # A panic of a library in another language is no Exception.
        if isinstance(error, KeyboardInterrupt):
            raise
        frames = traceback.extract_tb(error.__traceback__)
        ours = [frame for frame in frames if "site-packages" not in frame.filename] or list(frames)
        place = f"{type(error).__name__} at {ours[-1].filename}:{ours[-1].lineno}"
        outcome.fault(place, case, "".join(traceback.format_exception(error)[-6:]))
        return None
    outcome.codes[code] += 1
    if code not in EXIT_CODES or "Traceback" in said.getvalue():
        outcome.fault(f"exit code {code}", case, said.getvalue()[-2000:])
    elif UNSETTLED in said.getvalue():
        outcome.fault(f"an account: {arguments[1]}", case, said.getvalue()[-2000:])
    elif code == 2 and not said.getvalue().strip():
        outcome.fault("exit code 2 without a word", case, " ".join(arguments))
    return code


def corpora(numbers: Iterable[int], seed: int) -> Outcome:
    """The cases ``numbers`` of the damaged corpora of ``seed``: each imported and looked at."""
    outcome = Outcome()
    warm()
    with scratch() as folder, quiet():
        for number in numbers:
            chance = Random(f"corpus {seed} {number}")
            _corpus(chance.choice(seeds()), chance, f"seed {seed}, case {number}", folder, outcome)
    return outcome


def _corpus(source: Seed, chance: Random, case: str, folder: Path, outcome: Outcome) -> None:
    here = folder / "case"
    (here / "source").mkdir(parents=True)
    try:
        write(damage(source.files, chance), here / "source", chance)
        outcome.cases += 1
        places = {"SOURCE": str(here / "source"), "OUT": str(here / "out")}
        for command in source.commands:
            arguments = [_placed(word, places) for word in command]
            if run(arguments, f"{case} ({source.name}): {' '.join(command)}", outcome) not in (0, 1):
                break
    finally:
        shutil.rmtree(here)


def configurations(numbers: Iterable[int], seed: int) -> Outcome:
    """The cases ``numbers`` of the damaged configurations of ``seed``: each read and checked before any work."""
    outcome = Outcome()
    warm()
    before = Path.cwd()
    with scratch() as folder, quiet():
        write_small_corpus(folder / "case" / "corpus", sessions=8)
        os.chdir(folder / "case")  # What a path leads to lies in the scratch folder.
        try:
            for number in numbers:
                chance = Random(f"configuration {seed} {number}")
                path = write_configuration(folder / "case", chance)
                outcome.cases += 1
                case = f"seed {seed}, case {number}:\n{path.read_bytes()[:1500]!r}"
                run(["run", str(path), "--dry-run", *chance.choice(([], ["--json"]))], case, outcome)
                assembly._kept.clear()
        finally:
            os.chdir(before)
    return outcome


def command_lines(numbers: Iterable[int], seed: int) -> Outcome:
    """The cases ``numbers`` of the odd command lines of ``seed``, each beside a corpus and a configuration."""
    outcome, before = Outcome(), Path.cwd()
    warm()
    with scratch() as folder, quiet():
        try:
            for number in numbers:
                chance = Random(f"command line {seed} {number}")
                corpus = write_small_corpus(folder / "case" / "corpus", sessions=8)
                os.chdir(corpus.parent)
                Path("run.toml").write_bytes(b'corpus = "corpus"\noutput = "run"\n')
                outcome.cases += 1
                words = command_line(chance)
                run(words, f"seed {seed}, case {number}: {shlex.join(words)[:600]!r}", outcome)
                os.chdir(folder)
                shutil.rmtree(corpus.parent)
        finally:
            os.chdir(before)
    return outcome


def _placed(word: str, places: dict[str, str]) -> str:
    for name, path in places.items():
        word = word.replace(name, path)
    return word
