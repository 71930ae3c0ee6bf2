"""What the wrappers import, and what is said where an extra is not installed."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest


def test_no_trainer_and_no_extra_is_imported_before_it_is_used() -> None:
    script = (
        "import sys, apportion.environments.wrappers.tool_episode; "
        "print(sorted({'torch', 'trl', 'transformers', 'gymnasium', 'pettingzoo'} & set(sys.modules)))"
    )
    root = Path(__file__).resolve().parents[3]
    done = subprocess.run([sys.executable, "-c", script], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_without_the_extra_it_is_told_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "apportion.environments.wrappers.aec", raising=False)
    for name in ("gymnasium", "pettingzoo"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"Install it with `pip install 'apportion\[pettingzoo\]'`"):
        import_module("apportion.environments.wrappers.aec")
