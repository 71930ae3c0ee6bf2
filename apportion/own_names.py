"""Whether the packages that a command imports are apportion's own; their names are general, and others use them too."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

OWN_NAMES = (
    "foundation",
    "corpus",
    "llm_client",
    "environments",
    "features",
    "reward_model",
    "decompose",
    "evaluation",
    "rlhf",
    "pipeline",
    "study",
    "viewer",
)
"""What is imported beside ``apportion`` itself; ``dags`` is for orchestrators, which load it by its file."""
HOME = Path(__file__).resolve().parents[1]
EXIT_USAGE = 2


def hiding_files(names: tuple[str, ...] = OWN_NAMES, home: Path = HOME) -> dict[str, str]:
    """By name, the file or folder that is imported in place of the package of that name in ``home``.

    Nothing is imported. A name that is nowhere is left out: importing it says so.
    """
    places = {name: _place(name) for name in names}
    return {name: place for name, place in places.items() if place and not _is_of(place, home / name)}


def end_if_hidden() -> None:
    """End this process with exit code 2 and what to do where a foreign module hides a package of ours."""
    hiding = hiding_files()
    if not hiding:
        return
    files = "".join(f"\n  `{name}` is {place}, and not {HOME / name}" for name, place in hiding.items())
    sys.stderr.write(
        f"error: other modules hide packages of apportion's own:{files}\n"
        "Rename what is yours or leave its folder (the current one, or one in PYTHONPATH); "
        "what is an installed package's: give apportion an environment of its own, "
        "`pipx install` or `uv tool install` (docs/install.md).\n"
    )
    sys.exit(EXIT_USAGE)


def _is_of(place: str, package: Path) -> bool:
    return os.path.realpath(place) in (os.path.realpath(package), os.path.realpath(package / "__init__.py"))


def _place(name: str) -> str | None:
    try:
        spec = find_spec(name)
    except ValueError:  # something put a module without a spec in sys.modules
        return getattr(sys.modules[name], "__file__", None)
    if spec is None:
        return None
    if spec.origin is not None:
        return spec.origin
    return next(iter(spec.submodule_search_locations or ()), None)
