import re
from pathlib import Path

from decompose.methods import Method

PAGE = Path(__file__).resolve().parents[2] / "docs" / "decompose.md"


def test_the_page_s_python_runs(capsys):
    first, game, second = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    exec(first, {})
    assert "'turn': 0, 'raw_reward': 0." in capsys.readouterr().out
    exec(game, {})
    assert capsys.readouterr().out == "[0.6 0.6 0.6] exact 8\n"
    names = {}
    exec(second, names)
    assert isinstance(names["LENGTH"], Method)
