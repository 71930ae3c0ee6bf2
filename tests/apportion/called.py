"""The command line called in this process: the code with which it exits, and what it says."""

import pytest

from apportion.cli import main

Said = tuple[int, str, str]


def called(*arguments: object) -> int:
    """The exit code of `apportion ARGUMENTS`."""
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return int(ended.value.code or 0)


class saying:  # noqa: N801 - called as a function is
    """`apportion WORDS`, to be given further arguments."""

    def __init__(self, *words: str) -> None:
        self.words = words

    def __call__(self, capsys: pytest.CaptureFixture[str], *arguments: object) -> Said:
        """The exit code, stdout and stderr."""
        code = called(*self.words, *arguments)
        out, err = capsys.readouterr()
        return code, out, err

    def refuses(self, capsys: pytest.CaptureFixture[str], said: str | tuple[str, ...], *arguments: object) -> str:
        """It ends with exit code 2 and says why; all that it says of that."""
        code, _, err = self(capsys, *arguments)
        assert code == 2 and all(one in err for one in ((said,) if isinstance(said, str) else said)), err
        return err
