from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from apportion.corpus.corpus import Corpus
from apportion.corpus.schema import RESPONSES
from apportion.foundation.errors import InputError
from apportion.rlhf.compare.responses import context_text
from apportion.rlhf.policy.contexts import merge_turns, spoken
from apportion.study.design.create import StudyPlan, make_study
from apportion.study.import_export.turn_labels import corpus_turns, turn_ratings
from apportion.study.rows import IMPORTED, rows_text
from apportion.viewer.labels.merge import merge
from apportion.viewer.labels.of_study import export_labels
from tests.study.made_up import answered, made_study
from tests.study.studies import study_in

DEMO = Corpus.open(Path(__file__).resolve().parents[3] / "demo" / "corpus")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A study of contexts of the demo corpus, windows of seven turns, as `apportion policy generate` makes them."""
    rows = []
    for session_id in DEMO.session_ids()[:4]:
        episode = DEMO.session(session_id).episodes(DEMO.rating_names()[0])[0]
        position = [
            p for p in episode.target_positions if p > 7 and episode.turns[p - 1].speaker != episode.rating.target
        ][-1]
        messages = merge_turns(spoken(episode.turns[:position])[-7:], episode)
        context, turn = context_text(messages), episode.turns[position].turn
        rows.append(
            {"session_id": session_id, "turn": turn, "context": context, "policy": "p", "response": "Yes.", "seed": 0}
        )
    table = pa.Table.from_pylist(rows, schema=RESPONSES.arrow)
    study = study_in(tmp_path_factory.mktemp("turns") / "study", "turns", table, practice=0, checks_every=2)
    _, key = made_study(tmp_path_factory.mktemp("other") / "study", "turns")
    return study, answered(study, key, people=3)


def test_every_message_of_the_agent_ends_in_a_turn_of_its_words(made):
    study, _ = made
    for item in study.counted:
        places = corpus_turns(item, DEMO)
        assert set(places) == set(item.positions) and item.positions
        for place, turn in places.items():
            assert item.messages[place].text.endswith(" ".join(turn.text.split())) and turn.turn < item.turn


def test_ratings_become_labels_and_a_corpus_has_them_after_a_merge(made, tmp_path):
    study, rows = made
    ratings = turn_ratings(study, rows, DEMO)
    counted = [row for row in rows if row.item not in study.checks]
    assert sorted(rating.value for rating in ratings) == sorted(
        n for row in counted for n in row.answers["landed"].values()
    )
    (study.path / IMPORTED).mkdir(exist_ok=True)
    (study.path / IMPORTED / "all.jsonl").write_text(rows_text(rows))
    overlay = tmp_path / "study.labels.jsonl"
    assert export_labels(study.path, DEMO.root, overlay) == len(ratings)
    merge([overlay], DEMO, tmp_path / "labelled")
    labels = [row for row in Corpus.open(tmp_path / "labelled").turn_labels.to_pylist() if row["name"] == "landed"]
    assert {(x["session_id"], x["turn"], x["annotator"], x["value"]) for x in labels} == {
        (x.session_id, x.turn, x.annotator, x.value) for x in ratings
    }
    assert {(x["low"], x["high"]) for x in labels} == {(1.0, 5.0)}
    with pytest.raises(InputError, match=r"is there\. Name a file that is not"):
        export_labels(study.path, DEMO.root, overlay)


def test_a_reversed_criterion_is_mirrored(made):
    study, rows = made
    turned = study.criteria.criteria[0].model_copy(update={"reversed": True})
    other = replace(study, criteria=study.criteria.model_copy(update={"criteria": (turned,)}))
    assert [6 - x.value for x in turn_ratings(other, rows, DEMO)] == [x.value for x in turn_ratings(study, rows, DEMO)]


def test_another_corpus_is_refused(made, tmp_path):
    study, rows = made
    item = study.counted[0]
    with pytest.raises(InputError, match="has no turn 3 in a session 'elsewhere'"):
        corpus_turns(replace(item, session_id="elsewhere", turn=3), DEMO)
    context = item.context.replace("assistant: ", "assistant: Well, ", 1)
    with pytest.raises(InputError, match="has other words before turn"):
        corpus_turns(replace(item, context=context), DEMO)
    longer = replace(item, context="assistant: Hello.\n" * 400 + item.context)
    with pytest.raises(InputError, match=r"has other words before turn|has not the turns that its context begins with"):
        turn_ratings(replace(study, items={**study.items, item.item: longer}), rows, DEMO)


def test_what_has_no_ratings_of_turns(made, tmp_path):
    study, _ = made
    with pytest.raises(InputError, match="no turn was rated yet"):
        turn_ratings(study, [], DEMO)
    other, _ = made_study(tmp_path / "study")
    with pytest.raises(InputError, match="no criterion is asked of turns"):
        turn_ratings(other, [], DEMO)


def test_dialogues_of_a_corpus_have_a_label_for_each_turn_of_who_is_judged(tmp_path):
    study, _ = make_study(DEMO, tmp_path / "study", StudyPlan("turns", seed=7, contexts=4, practice=0, checks_every=0))
    for item in study.counted:
        turns = corpus_turns(item, DEMO)
        assert sorted(turns) == list(item.positions)
        assert all(" ".join(turns[place].text.split()) == item.messages[place].text for place in turns)
        assert {turn.speaker for turn in turns.values()} == {turns[item.positions[0]].speaker}


def test_dialogues_of_another_corpus_have_no_label(tmp_path):
    study, _ = make_study(DEMO, tmp_path / "study", StudyPlan("turns", seed=7, contexts=2, practice=0, checks_every=0))
    item = study.counted[0]
    shifted = replace(item, turns=tuple(None if number is None else number + 9_999 for number in item.turns))
    with pytest.raises(InputError, match="has not its turns"):
        corpus_turns(shifted, DEMO)
