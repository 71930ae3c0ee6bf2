import pytest

from apportion.environments.negotiation.action_encoding import AGREE, END, act_code, split_code
from apportion.environments.negotiation.expert_queries import Question, Queue
from apportion.environments.negotiation.expert_queries.asking import Annotated, annotate
from apportion.foundation.errors import InputError
from apportion.foundation.files import locked
from tests.environments.terminal.test_human_agent import Typist

PROPOSED = act_code("propose", (1, 2, 0))
QUESTIONS = [
    Question((1, 3, 1), (3, 2, 1), 1, 0, (PROPOSED,)),
    Question((1, 3, 1), (3, 2, 1), 1, 0, (PROPOSED, END)),
    Question((2, 2, 1), (0, 4, 2), 0, 0),
]


def test_questions_are_answered_in_numbers_or_words_and_left_ones_come_again(tmp_path):
    queue = Queue(tmp_path)
    queue.ask(QUESTIONS)
    typist = Typist("/agree", "/stop")
    assert annotate(tmp_path, "ann", typist.screen) == Annotated(1, 2)
    assert "#1 Alice proposed to keep 1 book and 2 hats" in typist.text and "a book is worth 3 points" in typist.text
    typist = Typist("/take 2 0 0", "/take", "hm", "I take the hats, you get the rest")
    assert annotate(tmp_path, "ann", typist.screen) == Annotated(2, 0)
    shown = " ".join(typist.text.split())
    assert "no item more than there is" in shown and "that is no act" in shown
    assert "===== question 1 of 2 =====" in typist.text
    assert queue.answered(QUESTIONS) == [AGREE, split_code((0, 1, 1)), act_code("propose", (0, 2, 0))]
    assert annotate(tmp_path, "ann", Typist().screen) == Annotated(0, 0)


def test_wrong_folder_id_or_two_people_at_once(tmp_path):
    with pytest.raises(InputError, match="no such folder"):
        annotate(tmp_path / "none", "ann", Typist().screen)
    with pytest.raises(InputError, match="annotator 'Ann Lee'"):
        annotate(tmp_path, "Ann Lee", Typist().screen)
    with locked(tmp_path / ".answers.lock", "", InputError), pytest.raises(InputError, match="somebody answers"):
        annotate(tmp_path, "ann", Typist().screen)
