import ast
import re

import pytest

from tests.docs.pages import ROOT, WRITTEN, name, read

ARCHITECTURE = "docs/explanations/architecture.md"
NO_MODULES = {"toml", "fish", "NAME"}
GROUPS = {
    f"apportion.{group}"
    for path in ROOT.glob("*/**/*.py")
    if path.parts[len(ROOT.parts)] in ("corpus", "decompose", "environments", "rlhf", "pipeline")
    for group in re.findall(r'"apportion\.([a-z_]+)"', path.read_text(encoding="utf-8"))
}
"""Groups of entry points that the code reads."""
LADDER = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tests", "demo"}


MADE = {"site/"}


@pytest.mark.parametrize("page", [ARCHITECTURE, "CONTRIBUTING.md"])
def test_every_path_of_the_map_exists(page):
    named = re.findall(r"`((?:[a-z_]+/)+[a-z_]*(?:\.[a-z]+)?|[a-z_]+/)[:`]", read(page))
    whole = [path for path in named if (ROOT / path.partition("/")[0]).is_dir()]
    assert len(whole) >= 20
    assert not [path for path in whole if path not in MADE and not (ROOT / path).exists()]


@pytest.mark.parametrize("page", [page for page in WRITTEN if page.parent.name != "evidence"], ids=name)
def test_every_module_that_is_named_exists(page):
    files = re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.py)[:`]", read(page))
    assert not [path for path in files if not (ROOT / path).exists()]
    modules = re.findall(r"\bapportion((?:\.[a-zA-Z_]+)+)\b", read(page))
    assert not [f"apportion{module}" for module in set(modules) if not resolved(module.split(".")[1:])]


def resolved(parts):
    """Whether a dotted name below `apportion` is a module, a name in one, or a group of entry points."""
    if parts[0] in NO_MODULES or ".".join(("apportion", *parts)) in GROUPS or parts[0].endswith("_agents"):
        return True
    for end in range(len(parts), 0, -1):
        place, here = ROOT.joinpath(*parts[:end]), ROOT.joinpath("apportion", *parts[:end])
        for file in (place.with_suffix(".py"), place / "__init__.py", here.with_suffix(".py")):
            if file.is_file():
                return (
                    end == len(parts) or re.search(rf"\b{parts[end]}\b", file.read_text(encoding="utf-8")) is not None
                )
    return False


def test_every_package_and_folder_names_its_files():
    unnamed = []
    for package in sorted(LADDER):
        for init in sorted((ROOT / package).rglob("__init__.py")):
            words = set(re.findall(r"\w+", ast.get_docstring(ast.parse(init.read_text(encoding="utf-8"))) or ""))
            files = {path.stem for path in init.parent.glob("*.py")} - {"__init__", "__main__"}
            rooms = {path.parent.name for path in init.parent.glob("*/__init__.py") if not path.parent.is_symlink()}
            unnamed += [f"{init.relative_to(ROOT)}: {name}" for name in sorted((files | rooms) - words)]
    assert not unnamed


def test_every_package_is_on_the_ladder():
    ladder = read(ARCHITECTURE).partition("## The stages")[0]
    assert set(re.findall(r"^\| `([a-z_]+)/` \|", ladder, re.MULTILINE)) == LADDER
