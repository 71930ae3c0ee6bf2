"""The Airflow and Prefect environments see the project's own libraries, so that the versions have to agree."""

import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.dags.conftest import ROOT

OTHER_VERSION = {
    # Their own fastapi: the pages of `apportion view` are not served from there.
    "airflow": {"fastapi": "0.136.3"},
    "prefect": {"fastapi": "0.150.0"},
}


def _pins(name: str) -> dict[str, str]:
    lines = (ROOT / name).read_text().splitlines()
    pins = (Requirement(line) for line in lines if line and not line.startswith("#"))
    return {canonicalize_name(pin.name): str(pin.specifier).removeprefix("==") for pin in pins}


@pytest.mark.parametrize("environment", OTHER_VERSION)
def test_versions_are_those_of_the_project(environment: str) -> None:
    project, own = _pins("constraints.txt"), _pins(f"constraints-{environment}.txt")
    differing = {name: version for name, version in own.items() if project.get(name, version) != version}
    assert differing == OTHER_VERSION[environment]


@pytest.mark.parametrize("environment", OTHER_VERSION)
def test_versions_satisfy_the_extra_and_the_dependencies(environment: str) -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pins = _pins(f"constraints-{environment}.txt")
    for line in (*declared["dependencies"], *declared["optional-dependencies"][environment]):
        wanted = Requirement(line)
        assert wanted.specifier.contains(pins[canonicalize_name(wanted.name)]), line
