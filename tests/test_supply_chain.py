"""What is installed and what is bundled is written down: the lock file, the bill of materials, NOTICE."""

import json
import re
import subprocess
import sys
import tomllib

import pytest

from tests.docs.pages import ROOT

LOCK = ROOT / "requirements.lock"
NOTICE = (ROOT / "NOTICE").read_text(encoding="utf-8")
BUNDLED = re.findall(r"^- `([^`]+)`: .+ \([\w.-]+\)\.$", NOTICE, re.MULTILINE)
OTHERS = (".safetensors", ".onnx", ".tflite", ".task", ".h5", ".npz", ".mp4", ".wav", ".parquet", ".min.js", ".woff2")


def pins(text):
    """Name and version of each package, as indexes compare names."""
    found = re.findall(r"^([A-Za-z0-9._-]+)==(\S+)", text, re.MULTILINE)
    return {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in found}


def test_the_lock_file_is_the_constraints_with_hashes():
    text = LOCK.read_text(encoding="utf-8")
    locked, wanted = pins(text), pins((ROOT / "constraints.txt").read_text(encoding="utf-8"))
    assert {name: locked[name] for name in wanted if name in locked} == {
        name: version for name, version in wanted.items() if name in locked
    }
    entries = re.split(r"^(?=[A-Za-z0-9])", text, flags=re.MULTILINE)[1:]
    assert len(entries) == len(locked) > 100 and all("--hash=sha256:" in entry for entry in entries)
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    names = {re.sub(r"[-_.]+", "-", re.match(r"[\w.-]+", one)[0]).lower() for one in asked}
    assert names <= set(locked)


def test_every_weight_recording_and_vendored_script_is_in_the_notice():
    packages = [path.parent for path in ROOT.glob("*/__init__.py")]
    files = [
        str(path.relative_to(ROOT)) for folder in packages for path in folder.rglob("*") if path.name.endswith(OTHERS)
    ]
    covered = tuple(BUNDLED)
    assert len(files) > 10
    assert not [file for file in files if not any(file == one or file.startswith(f"{one}/") for one in covered)]
    assert all((ROOT / path).exists() for path in BUNDLED)


def test_the_bill_of_materials_names_what_is_installed_and_bundled(tmp_path):
    subprocess.run([sys.executable, str(ROOT / ".ci" / "sbom.py"), str(tmp_path / "sbom.json")], check=True)
    bill = json.loads((tmp_path / "sbom.json").read_text())
    assert (bill["bomFormat"], bill["specVersion"], bill["metadata"]["component"]["name"]) == (
        "CycloneDX",
        "1.6",
        "apportion",
    )
    references = [one["bom-ref"] for one in bill["components"]]
    assert len(set(references)) == len(references) and {f"bundled:{path}" for path in BUNDLED} <= set(references)
    assert any(one.startswith("pkg:pypi/torch@") for one in references)
    asked = {reference for one in bill["dependencies"] for reference in (one["ref"], *one["dependsOn"])}
    assert asked <= set(references)


@pytest.mark.slow
def test_an_environment_could_be_made_of_the_lock_file(tmp_path):
    done = subprocess.run(["make", "-C", str(ROOT), "lock-check"], capture_output=True, text=True, check=False)
    if "dns error" in done.stderr or "Failed to fetch" in done.stderr:
        pytest.skip("no package index can be reached")
    assert done.returncode == 0, done.stderr
