import pytest

from apportion.environments.negotiation.human_study.progress_log import KEPT, ParticipantSession, checked
from apportion.foundation.errors import InputError


def test_a_line_that_a_kill_has_cut_off_is_dropped(tmp_path):
    sitting = ParticipantSession.open(tmp_path, "p1")
    sitting.add("begun", study="x")
    sitting.add("declined")
    path = tmp_path / KEPT
    whole = path.read_bytes()
    path.write_bytes(whole[:-4])
    assert ParticipantSession.open(tmp_path, "p1", mend=False).consented is None and path.read_bytes() == whole[:-4]
    assert (
        ParticipantSession.open(tmp_path, "p1").consented is None
        and path.read_bytes() == whole[: whole.index(b"\n") + 1]
    )


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{", "Expecting"),
        ("[]", "list indices"),
        ('{"what": "sang"}', "'sang' is nothing that is kept"),
        ('{"what": "quiz", "question": 9, "tries": 1}', "9 is none of 0 to 2"),
        ('{"what": "answer", "game": 1, "question": "fair", "answer": 6}', "6 is no whole number from 1 to 5"),
        ('{"what": "answer", "game": 1, "question": "age", "answer": 6}', "no question is called 'age'"),
    ],
)
def test_a_damaged_line_is_named(tmp_path, line, why):
    (tmp_path / KEPT).write_text('{"what": "consented"}\n' + line + "\n")
    with pytest.raises(InputError, match=f"{KEPT}: line 2: {why}"):
        ParticipantSession.open(tmp_path, "p1")


def test_answers_that_are_none():
    assert checked("comments", "") == "" and checked("fair", 1) == 1
    for name, answer in (("fair", True), ("fair", "x"), ("fair", 0), ("comments", 3), ("comments", "x" * 4001)):
        with pytest.raises(ValueError, match=r"is no whole number|words of at most"):
            checked(name, answer)
