"""The command line called in this process: the code with which it exits, and what it says."""

from collections.abc import Callable

import pytest

from apportion.cli import main

Said = tuple[int, str, str]


def called(*arguments: object) -> int:
    """The exit code of `apportion ARGUMENTS`."""
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return int(ended.value.code or 0)


def saying(*words: str) -> Callable[..., Said]:
    """A function of `capsys` and the arguments after `apportion WORDS`: the exit code, stdout, stderr."""

    def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> Said:
        code = called(*words, *arguments)
        out, err = capsys.readouterr()
        return code, out, err

    return run
