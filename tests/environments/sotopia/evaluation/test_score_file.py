"""The verdicts of a corpus."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.environments.sotopia.evaluation.scores import (
    DIMENSIONS,
    VERDICTS,
    CharacterScores,
    DimensionScore,
    read_verdicts,
    write_verdicts,
)
from apportion.foundation.errors import InputError

WORDS = st.text(st.characters(exclude_categories=("Cs",)))
ONE = st.builds(DimensionScore, st.none() | st.just(0), WORDS, st.none() | WORDS)


@given(
    st.dictionaries(st.tuples(WORDS, WORDS, WORDS), st.fixed_dictionaries(dict.fromkeys(DIMENSIONS, ONE)), max_size=3)
)
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, given: dict) -> None:
    folder = tmp_path_factory.mktemp("verdicts")
    verdicts = [CharacterScores(*key, scores) for key, scores in given.items()]
    write_verdicts(folder, reversed(verdicts))
    assert sorted(read_verdicts(folder), key=str) == sorted(verdicts, key=str)


def test_there_may_be_none(tmp_path: Path) -> None:
    assert read_verdicts(tmp_path) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"score": 7.5}, "line 3: .*score 7.5: a whole number from 0 to 10 is needed"),
        ({"score": 11}, "score 11"),
        ({"dimension": "FUN"}, "dimension 'FUN'; there are BEL, REL"),
        ({"dimension": None}, "dimension None"),
        ({"dimension": "BEL"}, "BEL of 'ann' by 'j' is there twice"),
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, change: dict, message: str) -> None:
    write_verdicts(tmp_path, [CharacterScores("s", "j", "ann", dict.fromkeys(DIMENSIONS, DimensionScore(0)))])
    lines = (tmp_path / VERDICTS).read_text().splitlines()
    lines[2] = json.dumps(json.loads(lines[2]) | change)
    (tmp_path / VERDICTS).write_text("\n".join(lines))
    with pytest.raises(InputError, match=message):
        read_verdicts(tmp_path)
    (tmp_path / VERDICTS).write_text("\n".join([*lines[:2], "{", *lines[3:]]))
    with pytest.raises(InputError, match="line 3: no line of a verdict"):
        read_verdicts(tmp_path)
    (tmp_path / VERDICTS).write_text("\n".join(lines[:2]))
    with pytest.raises(InputError, match="'j' of 'ann': no line of KNO, SEC"):
        read_verdicts(tmp_path)
