import pytest

from apportion.corpus.corpus import Corpus
from apportion.corpus.session import Session
from apportion.decompose.influence.local_scorer import load_measurer
from apportion.decompose.influence.scorer import Prompt
from apportion.foundation.errors import InputError
from apportion.llm_client.request import ChatMessage
from apportion.rlhf.language_model_finetune import CorpusModelSettings, sessions_of, train_corpus_model
from tests.behaviour.small import write_small_corpus

SMALL = CorpusModelSettings(steps=60, hidden=64, layers=1, vocabulary=400, tokens=192)


def test_a_model_of_a_corpus_knows_its_words_and_what_answers_what(tmp_path):
    write_small_corpus(tmp_path / "corpus", sessions=30)
    sessions = sessions_of(tmp_path / "corpus", None)
    steps = []
    told = train_corpus_model(sessions, tmp_path / "model", SMALL, lambda step, loss: steps.append(step))
    assert told.sessions == 3 and told.read == 27 and steps[-1] == 60
    assert told.nats < 0.5 * told.uniform and told.to_json()["tokens"] == told.tokens > 0
    opening = (ChatMessage("user", "…"), ChatMessage("assistant", "Hello, I need some help."))
    said = ("The train leaves at nine from platform two.", "Please rephrase your request.")
    asked = [Prompt((*opening, ChatMessage("user", text))) for text in said]
    replies = ["Perfect, that helps a lot.", "No, this is annoying."]
    found = load_measurer(str(tmp_path / "model")).measure(asked, replies)
    assert found.sums[0, 0] - found.sums[0, 1] > 3 and found.sums[1, 1] - found.sums[1, 0] > 3


def test_only_the_sessions_of_a_list_are_read(tmp_path):
    write_small_corpus(tmp_path / "corpus", sessions=5)
    listed = tmp_path / "ids.txt"
    listed.write_text("s01\ns03\nelsewhere\n")
    assert [one.session_id for one in sessions_of(tmp_path / "corpus", listed)] == ["s01", "s03"]
    assert (
        len(sessions_of(tmp_path / "corpus", None)) == len(list(Corpus.open(tmp_path / "corpus").iter_sessions())) == 5
    )
    listed.write_text("elsewhere\n")
    with pytest.raises(InputError, match="lists none of the 5 sessions"):
        sessions_of(tmp_path / "corpus", listed)
    with pytest.raises(InputError, match="cannot be read"):
        sessions_of(tmp_path / "corpus", tmp_path / "none.txt")


def test_too_few_sessions_are_told(tmp_path):
    with pytest.raises(InputError, match="0 sessions in which anything is said"):
        train_corpus_model([Session("s", ())], tmp_path, SMALL)
