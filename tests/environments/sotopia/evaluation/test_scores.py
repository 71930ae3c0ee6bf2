"""What a judge says of one person."""

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.corpus.sotopia_eval import OVERALL, OVERALL_RANGE, RANGES
from apportion.environments.sotopia.evaluation.scores import (
    DIMENSIONS,
    VERDICTS,
    CharacterScores,
    DimensionScore,
    off_range,
    read_verdicts,
    write_verdicts,
)
from apportion.foundation.errors import InputError

GIVEN = st.fixed_dictionaries(
    {name: st.none() | st.integers(int(RANGES[name][0]), int(RANGES[name][1])) for name in DIMENSIONS}
)


@given(GIVEN)
def test_overall_is_the_mean_of_seven_and_missing_as_soon_as_one_is(scores: dict[str, int | None]) -> None:
    verdict = CharacterScores("s", "j", "ann", {name: DimensionScore(score) for name, score in scores.items()})
    known = [score for score in scores.values() if score is not None]
    rated = verdict.scores()
    assert set(verdict.missing) == {name for name, score in scores.items() if score is None}
    if len(known) == 7:
        assert math.isclose(rated[OVERALL][0], math.fsum(known) / 7, abs_tol=1e-12)
        assert OVERALL_RANGE[0] <= rated[OVERALL][0] <= OVERALL_RANGE[1]
    else:
        assert verdict.overall is None and OVERALL not in rated and len(rated) == len(known)


@pytest.mark.parametrize("score", [7.5, 11, -1, "7", True, None, [7], math.nan, math.inf, 10**400])
def test_what_is_no_whole_number_of_the_range_is_told(score: object) -> None:
    assert off_range("GOAL", score) == "a whole number from 0 to 10 is needed"


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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"score": 7.5}, "line 3: .*score 7.5: a whole number from 0 to 10 is needed"),
        ({"dimension": "FUN"}, "dimension 'FUN'; there are BEL, REL"),
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
