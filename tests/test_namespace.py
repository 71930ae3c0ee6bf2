"""Everything is imported below `apportion`, whose packages are links to the folders beside it."""

import importlib
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"apportion", "tests"}


def test_each_folder_has_its_link_and_each_link_its_folder():
    links = {path.name: path.readlink().as_posix() for path in (ROOT / "apportion").iterdir() if path.is_symlink()}
    assert links == {name: f"../{name}" for name in FOLDERS}


def test_no_file_imports_a_folder_by_its_bare_name():
    imports = re.compile(
        rf"^ *(?:from|import) (?:{'|'.join(FOLDERS)})(?:\.[\w.]+)?(?: import .*| as \w+)?$", re.MULTILINE
    )
    bare = [
        f"{path.relative_to(ROOT)}: {found}"
        for name in (*FOLDERS, "apportion", "tests", "benchmarks")
        for path in (ROOT / name).rglob("*.py")
        for found in imports.findall(path.read_text(encoding="utf-8"))
    ]
    assert not bare


@pytest.mark.parametrize("name", sorted(FOLDERS))
def test_a_bare_name_is_refused_while_tests_run(name):
    with pytest.raises(ImportError, match=f"apportion.{name}"):
        importlib.import_module(name)
    assert name not in sys.modules
