"""What holds for every test: one thread, no time limits, no emotion model that somebody has fetched."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Generator, Iterator, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import settings

from tests.postgres import Cluster, cluster

# Before anything loads torch or NumPy, and for the processes that tests start, too: a sum over another number of
# threads has other bits, and the test processes beside this one want the other cores.
for _name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[_name] = "1"

_ROOT = Path(__file__).resolve().parents[1]
_FOLDERS = {path.parent.name for path in _ROOT.glob("*/__init__.py")} - {"apportion", "tests"}


class NoBareNames:
    """Refuses `import corpus` for `import apportion.corpus`: only a checkout has the folders on its path."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Raise for our folders by their bare names; every other name is left to the other finders."""
        if name.partition(".")[0] in _FOLDERS:
            raise ImportError(f"import apportion.{name}: `{name}` is found in a checkout only")
        return None


sys.meta_path.insert(0, NoBareNames)

# A shell lets what it starts in the background hear no Ctrl-C, and neither would the processes to which tests send one.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine is no fault of the code.
settings.register_profile("quick", deadline=None, max_examples=25)
settings.register_profile("slow", deadline=None)
settings.load_profile("quick")


def pytest_configure(config: pytest.Config) -> None:
    """Properties are tried on more examples where slow tests are asked for."""
    if config.getoption("markexpr") == "slow":
        settings.load_profile("slow")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is imported and found stays to the end: collections that look through it are a quarter of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Generator[None]:
    """Names what failed once more at the very end: of a long output often only its last lines are kept."""
    yield
    for kind in ("failed", "error"):
        for report in terminalreporter.getreports(kind):
            terminalreporter.write_line(f"{kind}: {report.nodeid}")


@pytest.fixture(scope="session", autouse=True)
def no_fetched_models(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    before = os.environ.get("APPORTION_CACHE")
    os.environ["APPORTION_CACHE"] = str(tmp_path_factory.mktemp("cache"))
    yield
    if before is None:
        del os.environ["APPORTION_CACHE"]
    else:
        os.environ["APPORTION_CACHE"] = before


@pytest.fixture(scope="session")
def postgres() -> Iterator[Cluster]:
    """A PostgreSQL of the tests' own."""
    with cluster() as server:
        yield server


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """A test that lets torch compute with more threads leaves the next one with one."""
    yield
    torch = sys.modules.get("torch")
    if torch is not None and torch.get_num_threads() != 1:
        torch.set_num_threads(1)
