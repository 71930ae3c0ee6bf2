import doctest
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"apportion", "tests"}
MODULES = sorted(
    ".".join(("apportion", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")
    for package in PACKAGES
    for path in (ROOT / package).rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("module", MODULES)
def test_the_examples_of_a_module_are_true(module):
    failed, tried = doctest.testmod(import_module(module))
    assert tried > 0 and failed == 0
