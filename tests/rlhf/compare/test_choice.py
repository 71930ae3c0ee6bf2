"""What is to be generated, found out from Python; tests/apportion/commands/test_generate.py has the command."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from apportion.corpus.corpus import Corpus
from apportion.corpus.files.tablefile import write_table
from apportion.corpus.schema import SPLITS
from apportion.foundation.errors import InputError
from apportion.rlhf.compare.choice import GenerationRequest, choose_placement, choose_sessions, name_policies
from tests.behaviour.small import write_small_corpus


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return Corpus.open(write_small_corpus(tmp_path_factory.mktemp("choice") / "corpus", sessions=12))


def write_splits(folder: Path, tests: int) -> Path:
    rows = [{"session_id": f"s{n:02d}", "split": "test" if n < tests else "train"} for n in range(12)]
    folder.mkdir(parents=True, exist_ok=True)
    write_table(pa.Table.from_pylist(rows, schema=SPLITS.arrow), folder / "splits.parquet", SPLITS)
    return folder / "splits.parquet"


def test_a_policy_is_called_as_it_is_given_or_by_a_name_before_it():
    named = name_policies(["RUN/policy", "old=org/model"], blind=False)
    assert named == {"RUN/policy": "RUN/policy", "old": "org/model"}
    with pytest.raises(InputError, match=r"^--blind with 1 policies"):
        name_policies(["one"], True, "--{}".format)


def test_the_splits_are_those_given_else_those_beside_a_policy_else_the_default_shares(corpus, tmp_path):
    policy = tmp_path / "run" / "policy"
    policy.mkdir(parents=True)
    write_splits(tmp_path / "run", 2)

    def sessions(wanted: GenerationRequest, source: Path = policy) -> list[str]:
        return sorted({e.session_id for e in choose_sessions(corpus, {"p": str(source)}, wanted).episodes})

    assert sessions(GenerationRequest()) == ["s00", "s01"]
    assert sessions(GenerationRequest(splits_file=write_splits(tmp_path / "other", 1))) == ["s00"]
    assert len(sessions(GenerationRequest(split="all"))) == 12
    alone = choose_sessions(corpus, {"p": "org/model"}, GenerationRequest())
    assert alone.notes[0].endswith("give its table with splits_file") and alone.episodes


def test_a_device_that_is_not_here_is_called_as_the_caller_does(monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    for called, name in ((str, "device"), ("--{}".format, "--device")):
        with pytest.raises(InputError, match=f"^{name} = 'cuda': torch sees no CUDA device here"):
            choose_placement(GenerationRequest(device="cuda"), called)
    with pytest.raises(InputError, match="dtype = 'float8'"):
        choose_placement(GenerationRequest(dtype="float8"))
