from pathlib import Path

import apportion.commands

LONGEST = 150


def test_no_command_file_is_longer_than_a_command_needs():
    files = list(Path(apportion.commands.__path__[0]).rglob("*.py"))
    lengths = {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in files}
    assert len(files) > 10 and {name: lines for name, lines in lengths.items() if lines > LONGEST} == {}
