"""Airflow and Prefect read where they may write when they are imported: a folder of this test run."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
_HOME = Path(tempfile.mkdtemp(prefix="apportion-dags-"))

os.environ.update(
    AIRFLOW_HOME=str(_HOME / "airflow"),
    AIRFLOW__CORE__DAGS_FOLDER=str(ROOT / "dags"),
    AIRFLOW__CORE__LOAD_EXAMPLES="False",
    AIRFLOW__CORE__UNIT_TEST_MODE="False",
    AIRFLOW__DATABASE__SQL_ALCHEMY_CONN=f"sqlite:///{_HOME / 'airflow.db'}",
    AIRFLOW__LOGGING__LOGGING_LEVEL="WARNING",
    PREFECT_HOME=str(_HOME / "prefect"),
    PREFECT_LOGGING_LEVEL="WARNING",
    PREFECT_SERVER_ANALYTICS_ENABLED="false",
    DO_NOT_TRACK="1",
    PYTHONPATH=os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))),
)


@pytest.fixture(scope="session", autouse=True)
def _clean_home() -> Iterator[None]:
    yield
    shutil.rmtree(_HOME, ignore_errors=True)
