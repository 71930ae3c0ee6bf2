import json
from pathlib import Path

import pyarrow as pa
import pytest

from apportion.corpus.schema import REWARDS
from apportion.foundation.errors import InputError
from apportion.reward_model.score_journal import SessionScores, identity_of, open_journal
from apportion.reward_model.scoring import scored
from tests.behaviour.small import write_small_corpus
from tests.reward_model.test_model import random_head
from tests.reward_model.tiny import save_tiny, small

KEY = {"rater": "user", "target": "bot", "name": "liked", "method": "m", "seed": 0}


def scores(session_id: str, *rewards: float) -> SessionScores:
    rows = [{**KEY, "session_id": session_id, "turn": i, "reward": reward} for i, reward in enumerate(rewards)]
    return SessionScores(session_id, pa.Table.from_pylist(rows, schema=REWARDS.arrow), shortened=True)


def interrupted(out: Path, identity: str, *found: SessionScores) -> None:
    with pytest.raises(KeyboardInterrupt), open_journal(out, identity, SessionScores.from_json) as journal:
        for one in found:
            journal.add(one.session_id, one.to_json())
        raise KeyboardInterrupt


def test_what_was_scored_is_there_again_to_the_bit(tmp_path: Path) -> None:
    first, second = scores("a", 0.1 + 0.2, -1e-300), SessionScores("b", REWARDS.arrow.empty_table(), silent=True)
    interrupted(tmp_path / "s.parquet", "x", first, second)
    with open_journal(tmp_path / "s.parquet", "x", SessionScores.from_json) as journal:
        assert journal.done == {"a": first, "b": second}
    assert list(tmp_path.iterdir()) == []


def test_a_journal_of_something_else_is_thrown_away(tmp_path: Path) -> None:
    interrupted(tmp_path / "s.parquet", "x", scores("a", 1.0))
    with open_journal(tmp_path / "s.parquet", "y", SessionScores.from_json) as journal:
        assert not journal.done


@pytest.mark.parametrize(
    "rest",
    [
        b'["b", fal',
        b"nonsense\n",
        b'["b"]\n',
        b'["b", [0, 0, 0, [{"session_id": "c"}]]]\n',
        b"[]",
        b"\xff\xfe\r\n",
        b"3\n",
    ],
)
def test_what_a_kill_or_a_stranger_left_is_cut_off(rest: bytes, tmp_path: Path) -> None:
    out = tmp_path / "s.parquet"
    interrupted(out, "x", scores("a", 1.0))
    with (tmp_path / ".s.parquet.unfinished").open("ab") as file:
        file.write(rest)
    interrupted(out, "x", scores("b", 2.0))
    with open_journal(out, "x", SessionScores.from_json) as journal:
        assert journal.done == {"a": scores("a", 1.0), "b": scores("b", 2.0)}


@pytest.mark.parametrize("content", [b"", b"\n", b"{", b"\x00\xff\n"])
def test_a_damaged_first_line_starts_anew(content: bytes, tmp_path: Path) -> None:
    (tmp_path / ".s.parquet.unfinished").write_bytes(content)
    interrupted(tmp_path / "s.parquet", "x", scores("a", 1.0))
    lines = (tmp_path / ".s.parquet.unfinished").read_text().splitlines()
    assert json.loads(lines[0]) == "x" and len(lines) == 2


def test_what_goes_wrong_before_the_first_session_leaves_nothing(tmp_path: Path) -> None:
    interrupted(tmp_path / "s.parquet", "x")
    assert list(tmp_path.iterdir()) == []


def test_two_processes_do_not_write_one_table(tmp_path: Path) -> None:
    out = tmp_path / "s.parquet"
    with (
        open_journal(out, "x"),
        pytest.raises(InputError, match="is being written by another process"),
        open_journal(out, "x"),
    ):
        pass


def test_the_identity_holds_all_that_scores_depend_on(tmp_path: Path) -> None:
    backbone = save_tiny(tmp_path / "bert")
    model = random_head(small(backbone))
    model.save_pretrained(tmp_path / "m")
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "utterances.jsonl").write_text("{}")

    def identity(choice: tuple[str | None, ...] = (None, None), threads: int = 1) -> str:
        return identity_of(tmp_path / "m", model.config, corpus, choice, threads)

    plain = identity()
    assert identity() == plain
    assert len({plain, identity(("liked", None)), identity((None, "liked")), identity(threads=2)}) == 4
    (corpus / "utterances.jsonl").write_text("{ }")
    other_corpus = identity()
    random_head(small(backbone), 7).save_pretrained(tmp_path / "m")
    other_weights = identity()
    (Path(backbone) / "extra.bin").write_bytes(b"x")
    assert len({plain, other_corpus, other_weights, identity()}) == 4


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    random_head(small(save_tiny(folder / "bert"))).save_pretrained(folder / "llm-seed2")
    return folder / "llm-seed2"


def test_errors_call_the_choice_as_the_caller_does(model, tmp_path):
    corpus = write_small_corpus(tmp_path / "corpus", sessions=3)
    for options, problem in (({}, "^rating 'joy': not in"), ({"called": "--{}".format}, "^--rating 'joy': not in")):
        with (
            pytest.raises(InputError, match=problem),
            scored(model, corpus, tmp_path / "s.jsonl", lambda *_: None, rating="joy", **options),
        ):
            pass
