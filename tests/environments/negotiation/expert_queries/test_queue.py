import json

import pytest

from apportion.environments.negotiation.action_encoding import AGREE, DISAGREE, act_code
from apportion.environments.negotiation.expert_queries import Question, Queue, UnansweredError
from apportion.environments.negotiation.expert_queries.queue import ANSWERS, QUESTIONS, Answer
from apportion.foundation.errors import InputError, UnitError
from apportion.foundation.files import locked

FIRST = Question((1, 3, 1), (3, 2, 1), 0, 0)
SECOND = Question((1, 3, 1), (3, 2, 1), 1, 0, (act_code("propose", (1, 2, 0)),))


def test_questions_are_asked_once_and_answers_come_in_the_order_of_the_questions(tmp_path):
    queue = Queue(tmp_path / "asked")
    with pytest.raises(UnansweredError, match=r"^1 question waits .*apportion label expert"):
        queue.answered([SECOND])
    with pytest.raises(UnansweredError, match="2 questions wait"):
        queue.answered([FIRST, SECOND, SECOND])
    assert queue.ask([FIRST, SECOND]) == 0 and queue.open_questions() == [SECOND, FIRST]
    queue.answer(Answer(SECOND, AGREE, "ann"))
    assert queue.open_questions() == [FIRST]
    queue.answer(Answer(FIRST, 26, "bob"))
    assert queue.answered([FIRST, SECOND, FIRST]) == [26, AGREE, 26]
    # What was answered may be used already.
    queue.answer(Answer(FIRST, 25, "bob"))
    assert queue.answered([FIRST]) == [26] and queue.answers()[FIRST.name].by == "bob"


def test_it_can_wait_for_answers(tmp_path):
    queue, waited = Queue(tmp_path), []

    def sleep(seconds):
        waited.append(seconds)
        if len(waited) == 3:
            queue.answer(Answer(FIRST, 26, "ann"))

    assert queue.answered([FIRST], 10.0, sleep=sleep) == [26] and waited == [1.0] * 3
    with pytest.raises(UnansweredError):
        queue.answered([SECOND], 2.0, sleep=lambda seconds: None)


@pytest.mark.parametrize("file", [QUESTIONS, ANSWERS])
def test_a_line_that_a_kill_has_cut_off_is_asked_again(tmp_path, file):
    queue = Queue(tmp_path)
    queue.ask([FIRST, SECOND])
    queue.answer(Answer(FIRST, 26, "ann"))
    queue.answer(Answer(SECOND, AGREE, "ann"))
    path = tmp_path / file
    path.write_bytes(path.read_bytes()[:-3])
    if file == QUESTIONS:
        (tmp_path / ANSWERS).write_bytes((tmp_path / ANSWERS).read_bytes().split(b"\n")[0] + b"\n")
    assert queue.ask([FIRST, SECOND]) == (file == QUESTIONS)
    assert queue.open_questions() == [SECOND]
    queue.answer(Answer(SECOND, DISAGREE, "ann"))
    assert queue.answered([FIRST, SECOND]) == [26, DISAGREE]


def test_what_is_no_answer_is_not_written(tmp_path):
    queue = Queue(tmp_path)
    queue.ask([FIRST])
    with pytest.raises(UnitError, match="may not agree"):
        queue.answer(Answer(FIRST, AGREE, "ann"))
    assert not (tmp_path / ANSWERS).exists()


@pytest.mark.parametrize(
    ("file", "line", "why"),
    [
        (QUESTIONS, '{"question": "x"', "Expecting"),
        (QUESTIONS, '{"question": "x", "counts": [1]}', "no question"),
        (QUESTIONS, "[]", "AttributeError|list indices|no question"),
        (QUESTIONS, json.dumps({"question": "x", **FIRST.record()}), "'x' is not the name of what it asks"),
        (ANSWERS, '{"question": "x", "answer": 26, "by": "ann"}', "nobody has asked 'x'"),
        (ANSWERS, json.dumps({"question": FIRST.name, "answer": "26", "by": "ann"}), "answer '26'"),
        (ANSWERS, json.dumps({"question": FIRST.name, "answer": 250, "by": "ann"}), "answer 250: .* may not agree"),
    ],
)
def test_a_damaged_line_is_named(tmp_path, file, line, why):
    queue = Queue(tmp_path)
    queue.ask([FIRST])
    with (tmp_path / file).open("a") as damaged:
        damaged.write(line + "\n")
    with pytest.raises(InputError, match=f"{file}: line {2 if file == QUESTIONS else 1}: ({why})"):
        queue.answers()


def test_two_processes_do_not_ask_at_once(tmp_path):
    with (
        locked(tmp_path / f".{QUESTIONS}.lock", "", InputError),
        pytest.raises(InputError, match="another process asks"),
    ):
        Queue(tmp_path).ask([FIRST])
