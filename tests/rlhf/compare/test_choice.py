"""What is to be generated, found out from Python; tests/apportion/commands/test_generate.py has the command."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from apportion.corpus.corpus import Corpus
from apportion.corpus.files.tablefile import write_table
from apportion.corpus.schema import SPLITS
from apportion.foundation.errors import InputError
from apportion.rlhf.compare.choice import (
    GenerationRequest,
    choose_placement,
    choose_sessions,
    choose_window,
    name_policies,
)
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
    with pytest.raises(InputError, match=r"^blind with 1 policies: it needs 2 to 26\. Add some with policies\.$"):
        name_policies(["one"], blind=True)
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
    with pytest.raises(
        InputError, match=r"no session is in the split 'validation'\. Choose another with split, or all"
    ):
        sessions(GenerationRequest(split="validation"))


def test_the_window_is_what_is_wanted_over_what_the_policy_was_trained_with(tmp_path):
    (tmp_path / "window.json").write_text('{"context_turns": 5, "temperature": 0.9}')
    window, temperature = choose_window(str(tmp_path), GenerationRequest(max_new_tokens=3))
    assert (window.context_turns, window.max_new_tokens, temperature) == (5, 3, 0.9)
    assert choose_window(str(tmp_path), GenerationRequest(temperature=0.0))[1] is None
    assert choose_window("org/model", GenerationRequest(context_turns=1))[0].context_turns == 1
    with pytest.raises(InputError, match="max_new_tokens = 0"):
        choose_window(str(tmp_path), GenerationRequest(max_new_tokens=0))


def test_a_device_that_is_not_here_is_called_as_the_caller_does(monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    for called, name in ((str, "device"), ("--{}".format, "--device")):
        with pytest.raises(InputError, match=f"^{name} = 'cuda': torch sees no CUDA device here"):
            choose_placement(GenerationRequest(device="cuda"), called)
    with pytest.raises(InputError, match="dtype = 'float8'"):
        choose_placement(GenerationRequest(dtype="float8"))
