import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.corpus.session import Rating, Session, Turn
from apportion.decompose.prompt_building.pseudonymize import POOL, ROLES, folded, renaming
from apportion.decompose.session_methods.llm import requests_for
from apportion.decompose.session_methods.runner import judge_session
from apportion.decompose.settings import DecomposeSettings
from apportion.foundation.errors import UnitError
from apportion.llm_client.session import LLMSession
from tests.decompose.sessions import descriptors
from tests.llm_client.openai_server import OpenAIServer, completion, serving

WORD = re.compile(r"[^\W_]+")


def talk(speakers=("Ana", "bea"), texts=("Hi Bea!", "Hello, ANA's friend.", "Bye bea's dog")):
    turns = tuple(Turn(n, speakers[n % 2], text) for n, text in enumerate(texts))
    return Session("s1", turns, (Rating(speakers[0], speakers[1], "mood", 3.0, 1.0, 5.0),))


def names_for(session, *names, **options):
    return renaming(session.episodes()[0], names, **options)


def test_names_are_replaced_as_whole_words_in_their_case_with_possessives():
    found = names_for(talk())
    one, other = (found.speaker(name) for name in ("Ana", "bea"))
    assert (one in POOL, other.capitalize() in POOL, one.lower() != other) == (True, True, True)
    assert found.text("Ana's ANA ana Anabel, banana; bea-Ana_x") == (
        f"{one}'s {one.upper()} {one.lower()} Anabel, banana; {other}-{one}_x"
    )


def test_a_name_of_several_words_and_further_names_are_replaced():
    found = names_for(talk(("Mary Ann Lee", "user")))
    assert len(found.speaker("Mary Ann Lee").split()) == 3
    assert not {"Lee", "Ann", "MARY"} & set(WORD.findall(found.text("Lee, Ann and MARY!")))
    assert found.back(found.text("Lee, Ann and MARY!")) == "Lee, Ann and MARY!"
    found = names_for(talk(), "Tom", "Model X")
    text = found.text("Tom's model x, Tomorrow")
    assert "Tom" not in WORD.findall(text) and "model" not in text and "Tomorrow" in text
    assert found.back(text) == "Tom's Model x, Tomorrow".replace("Model", "model")


@pytest.mark.parametrize("speaker", ["user", "assistant", "A", "speaker 1", "Speaker_12", "agent2", "THE SYSTEM"])
def test_roles_stay(speaker):
    assert names_for(talk((speaker, "bea"))).speaker(speaker) == speaker


@pytest.mark.parametrize("speaker", ["5f3a9b12-77aa", "user4711", "U123", "0049 170 1234", "a1b2"])
def test_ids_that_can_be_looked_up_go_as_a_whole(speaker):
    found = names_for(talk((speaker, "bea")))
    assert found.speaker(speaker) in POOL
    assert found.back(f"{found.speaker(speaker)} agreed") == f"{speaker} agreed"
    assert speaker not in found.text(f"I am {speaker}.")


def test_a_short_id_of_letters_and_digits_is_found_where_it_stands_alone_and_a_bare_number_is_not():
    found = names_for(talk(("P0412", "77")))
    said = found.text("Ask p0412, P0412's friend or P04123 about 77 things.")
    new = found.speaker("P0412")
    assert said == f"Ask {new}, {new}'s friend or P04123 about 77 things."


def test_pseudonyms_are_no_words_of_the_dialogue_and_case_alone_tells_people_apart():
    said = " ".join(POOL[:-1])
    found = names_for(talk(texts=(said, said)))
    assert {found.speaker("Ana"), found.speaker("bea").capitalize()} == {POOL[-1], "Alex2"}
    found = names_for(talk(("José", "Jose\u0301")))
    assert found.speaker("José") != found.speaker("Jose\u0301")
    assert not {"José", "Jose\u0301"} & {found.speaker("José"), found.speaker("Jose\u0301")}


def test_blanks_of_a_question_stay_and_no_real_name_is_in_it_or_a_repr():
    assert "Ana" not in repr(names_for(talk()))
    found = names_for(talk())
    assert found.template("how {{ rater }} liked Bea {% if x %}") == (
        f"how {{{{ rater }}}} liked {found.speaker('bea').capitalize()} {{% if x %}}"
    )


NAMES = st.text(st.characters(whitelist_categories=("Lu", "Ll")), min_size=2, max_size=8).filter(
    lambda name: folded(name) not in ROLES and WORD.fullmatch(name) and folded(name) not in {folded(p) for p in POOL}
)
FILLER = st.text(st.characters(blacklist_categories=("Cs",)), max_size=12)


@given(st.data(), NAMES, NAMES)
def test_no_name_is_left_and_all_come_back(data, one, other):
    pieces = st.one_of(FILLER, st.sampled_from([one, other, one.upper(), other.lower(), f"{one}'s", f"({other})"]))
    texts = [" ".join(data.draw(st.lists(pieces, max_size=8))) for _ in range(4)]
    session = talk((one, other), texts)
    found = names_for(session)
    hidden = found.episode(session.episodes()[0])
    gone = {folded(one), folded(other)}
    for turn, was in zip(hidden.turns, session.turns, strict=True):
        assert not gone & {folded(word) for word in WORD.findall(f"{turn.speaker} {turn.text}")}
        assert folded(found.back(turn.text)) == folded(was.text)
    if one != other:
        assert hidden.turns[0].speaker != hidden.turns[1].speaker
        assert hidden.rating.rater == hidden.turns[0].speaker


def shown(session, table=None, **llm):
    settings = DecomposeSettings(llm={"model": "m", "pseudonyms": True, **llm})
    return [request for request, _ in requests_for(session, None, table, settings)]


def test_no_message_and_no_subject_holds_a_name_and_both_ratings_use_the_same():
    seen = descriptors((1, "Ana", "during", "looks at Bea"))
    (request,) = shown(talk(), seen, question="how much {{ rater }} liked Bea", speaker_names=("friend",))
    text = json.dumps(request.document()) + request.subject
    assert not {"ana", "bea", "friend"} & {folded(word) for word in WORD.findall(text)}
    assert "listener_during" in text
    session = talk()
    both = Session("s1", session.turns, (session.ratings[0], Rating("bea", "Ana", "mood", 2, 1, 5)))
    one, other = (re.search(r"<transcript>.*", r.messages[1].content, re.DOTALL)[0] for r in shown(both))
    assert one.split("</transcript>")[0] == other.split("</transcript>")[0]


def test_results_and_errors_have_the_real_names():
    session = talk()
    given = names_for(session).speaker("bea").capitalize()
    said = {"turns": [{"turn": 1, "value": 1.0, "evidence": f"{given}'s joke"}]}
    for answer, finds in ((json.dumps(said), None), (f"{given} was rude.", "Bea was rude")):
        with serving(OpenAIServer(answer=lambda body, text=answer: completion(text))) as server:
            settings = DecomposeSettings(llm={"base_url": server.url, "pseudonyms": True, "max_reply_attempts": 1})
            with LLMSession(settings.llm) as asker:
                if finds is None:
                    table = judge_session("llm", session, None, None, settings, asker).judgements
                    assert table.column("rationale").to_pylist() == ["Bea's joke"]
                    assert table.column("target").to_pylist() == ["bea"]
                    continue
                with pytest.raises(UnitError, match=finds):
                    judge_session("llm", session, None, None, settings, asker)


def test_without_pseudonyms_nothing_changes():
    (plain,) = (r for r, _ in requests_for(talk(), None, None, DecomposeSettings(llm={"model": "m"})))
    (same,) = shown(talk(), pseudonyms=False)
    assert plain == same and '"Ana"' in plain.messages[1].content
