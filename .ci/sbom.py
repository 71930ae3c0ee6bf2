"""The software bill of materials of this environment and of what the repository bundles, as CycloneDX 1.6.

Run: .venv/bin/python .ci/sbom.py FILE       (`make sbom`)
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
BUNDLED = re.compile(r"^- `([^`]+)`: (.+?) \(([\w.-]+)\)\.", re.MULTILINE)
"""A line of NOTICE: path, what it is, the SPDX name of its licence."""
REQUIRED = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def canonical(name: str) -> str:
    """A package's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def reference(one: Distribution) -> str:
    """What a package is called among all: its package URL."""
    return f"pkg:pypi/{canonical(one.metadata['Name'])}@{one.version}"


def package(one: Distribution) -> dict[str, Any]:
    """An installed package as a component."""
    told = one.metadata.get("License-Expression") or one.metadata.get("License") or ""
    classes = [line.rpartition(" :: ")[2] for line in one.metadata.get_all("Classifier", []) if "License ::" in line]
    licence = " ".join(told.split()) if 0 < len(told) <= 100 else ", ".join(classes)
    found = {"type": "library", "name": canonical(one.metadata["Name"]), "version": one.version}
    found |= {"purl": reference(one), "bom-ref": reference(one)}
    return found | ({"licenses": [{"license": {"name": licence}}]} if licence else {})


def bundled(path: str, what: str, licence: str) -> dict[str, Any]:
    """What NOTICE names as a component: a file with its hash, a folder with that of its files."""
    digest, place = hashlib.sha256(), ROOT / path
    for file in [place] if place.is_file() else sorted(one for one in place.rglob("*") if one.is_file()):
        if "__pycache__" not in file.parts:
            digest.update(file.read_bytes())
    kind = "machine-learning-model" if path.endswith(".safetensors") else "library" if path.endswith(".js") else "data"
    found = {"type": kind, "name": path, "description": what, "bom-ref": f"bundled:{path}"}
    found |= {"hashes": [{"alg": "SHA-256", "content": digest.hexdigest()}]}
    return found | {"licenses": [{"license": {"id": licence}}]}


def bill() -> dict[str, Any]:
    """All of it; equal environments give equal bills."""
    installed = {canonical(one.metadata["Name"]): one for one in distributions() if one.metadata["Name"]}
    ours = installed.pop("apportion")
    needs = {
        name: sorted({reference(installed[need]) for need in map(needed, one.requires or ()) if need in installed})
        for name, one in installed.items()
    }
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": package(ours) | {"type": "application"}},
        "components": [
            *(package(installed[name]) for name in sorted(installed)),
            *(bundled(*line) for line in BUNDLED.findall((ROOT / "NOTICE").read_text(encoding="utf-8"))),
        ],
        "dependencies": [
            {"ref": reference(installed[name]), "dependsOn": needs[name]} for name in sorted(installed) if needs[name]
        ],
    }


def needed(requirement: str) -> str:
    """The name of what a requirement asks for."""
    match = REQUIRED.match(requirement.strip())
    return canonical(match[0]) if match else ""


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(bill(), indent=1, sort_keys=True) + "\n", encoding="utf-8")
