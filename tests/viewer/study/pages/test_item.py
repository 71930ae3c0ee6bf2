from random import Random
from urllib.parse import urljoin

import pytest

from apportion.study.design.randomization import lettered
from tests.viewer.study.asking import Caller, marks, query_of
from tests.viewer.study.served import study_served

REASON = "I would talk to A again, since it listens and asks. The others do not."


def sent(page, seed=1, reason=REASON):
    """The form of an item's page, filled in."""
    return [*page.forms.hidden(), *page.forms.answers(Random(seed), reason)]


def answered(caller, page, seed=1, **more):
    return caller.post(page.path, sent(page, seed, **more))


def test_items_come_one_by_one_and_end_with_the_code(study):
    caller = study.begun()
    seen = []
    page = caller.get("")
    for _ in range(5):
        seen.append(page.forms.one("item"))
        page = answered(caller, page)
    assert page.path == "/thanks" and tuple(seen) == study.store.places("a001")
    assert study.study.settings.completion in page.text
    assert {one.id: one.finished for one in study.store.annotators()}["a001"]
    assert caller.get("").path == "/thanks" and caller.get("item/2").path == "/thanks"
    assert len(study.store.answers()) == 5


def test_what_is_kept_is_what_was_marked_under_the_letters_of_the_page(study):
    caller = study.begun("a002")
    page = caller.get("item/1")
    pairs = sent(page)
    said = marks(page, pairs)
    after = caller.post("item/1", pairs)
    item = study.study.items[page.forms.one("item")]
    (row,) = study.store.answers()
    texts = {response.id: response.text for response in item.responses}
    assert {f"c-{name}": sorted(texts[one] for one in value) for name, value in row.answers.items()} == {
        name: value for name, value in said.items() if name.startswith("c-")
    }
    assert row.reason == REASON and row.annotator == "a002" and row.revision == 1
    assert query_of(after) == {"saved": "1"} and "Your answer to the practice is saved" in after.text


def test_what_was_saved_is_there_when_one_comes_back_and_can_be_changed(study):
    caller = study.begun()
    pairs = sent(caller.get("item/1"))
    caller.post("item/1", pairs)
    again = caller.get("item/1")
    assert "saved; you may change it" in again.text
    chosen = [(name, value) for name, values in again.forms.chosen().items() for value in values]
    assert sorted(chosen) == sorted(pair for pair in pairs if pair[0].startswith("c-") or pair[0] == "reason")
    assert answered(caller, again, seed=2).path == "/item/2"
    assert [row.revision for row in study.store.answers()] == [2]


def test_two_tabs_the_second_to_save_is_asked_which_answer_counts(study):
    caller = study.begun()
    one, other = caller.get("item/1"), caller.get("item/1")
    answered(caller, one, seed=1)
    (kept,) = study.store.answers()
    stale = answered(caller, other, seed=2, reason="Something else, in as many words as are needed here.")
    assert stale.status == 409 and "answered already, with other answers" in stale.text
    assert study.store.answers() == [kept]
    assert "Something else" in stale.text and REASON.split(",")[0] in stale.text
    chosen = [(name, value) for name, values in stale.forms.chosen().items() for value in values]
    after = caller.post("item/1", [*stale.forms.hidden(), *chosen])  # "Replace it".
    assert after.path == "/item/2"
    (changed,) = study.store.answers()
    assert changed.revision == 2 and changed.reason.startswith("Something else")


def test_two_tabs_with_the_same_answer_agree(study):
    caller = study.begun()
    one, other = caller.get("item/1"), caller.get("item/1")
    assert answered(caller, one).path == answered(caller, other).path == "/item/2"
    assert [row.revision for row in study.store.answers()] == [1]


def test_a_page_from_before_that_is_sent_with_another_answer_overwrites_nothing(study):
    """The browser's back button may show the page as it was, its number included."""
    caller = study.begun()
    page = caller.get("item/1")
    answered(caller, page, seed=1)
    stale = answered(caller, page, seed=2)
    assert stale.status == 409 and [row.revision for row in study.store.answers()] == [1]


def test_what_is_missing_is_said_and_nothing_is_lost(study):
    caller = study.begun()
    page = caller.get("item/1")
    pairs = [*sent(page, reason="short"), ("seconds", "31.5"), ("lost", "2")]
    pairs = [pair for pair in pairs if pair not in (("seconds", ""), ("lost", ""))]
    fault = caller.post("item/1", pairs)
    assert fault.status == 422 and "Nothing is saved yet" in fault.text and "at least 40" in fault.text
    assert fault.forms.chosen()["reason"] == ["short"]
    marked = {name: values for name, values in fault.forms.chosen().items() if name != "reason"}
    assert marked == {
        name: [value for other, value in pairs if other == name] for name in dict(pairs) if name.startswith("c-")
    }
    assert 'data-seconds="31.5"' in fault.text and 'data-lost="2"' in fault.text
    assert study.store.answers() == []


def test_seconds_and_focus_as_the_script_tells_them_and_without_it_as_the_server_saw(study):
    caller = study.begun()
    page = caller.get("item/1")
    told = {"seconds": "12.5", "lost": "3"}
    pairs = [(name, told.get(name, value)) for name, value in sent(page)]
    caller.post("item/1", pairs)
    page = caller.get("item/2")
    opened = str(int(page.forms.one("opened")) - 40)
    caller.post("item/2", [(name, opened if name == "opened" else value) for name, value in sent(page)])
    rows = {row.item: row for row in study.store.answers()}
    first, second = (rows[item] for item in study.store.places("a001")[:2])
    assert (first.seconds, first.focus_lost) == (12.5, 3)
    assert 40 <= second.seconds < 60 and second.focus_lost == 0


def test_later_items_are_seen_later_and_others_not_at_all(study):
    caller = study.begun()
    assert caller.get("item/3").path == caller.get("thanks").path == "/item/1"
    first = caller.get("item/1?saved=1").text  # A page confirms only what is kept, and has no code before the end.
    assert "Your answer to" not in first and study.study.settings.completion not in first
    assert caller.get("item/99").status == 404 and caller.get("item/0").status == 404
    assert caller.get("item/x").status == 404
    page = caller.get("item/1")
    assert caller.post("item/3", sent(page)).path == "/item/1" and study.store.answers() == []


def test_an_item_that_is_not_theirs(study):
    """A form that names another item, or was made for another annotator, changes nothing."""
    caller, other = study.begun("a001"), study.begun("a002")
    page = caller.get("item/1")
    pairs = sent(page)
    foreign = [(name, "i9999" if name == "item" else value) for name, value in pairs]
    assert caller.post("item/1", foreign).status == 400
    assert other.post("item/1", pairs).status == 403
    assert study.store.answers() == []


@pytest.mark.parametrize(("field", "value"), [("nonce", "short"), ("revision", "x"), ("token", "0" * 64)])
def test_a_form_that_no_page_gave(study, field, value):
    caller = study.begun()
    pairs = [(name, value if name == field else given) for name, given in sent(caller.get("item/1"))]
    assert caller.post("item/1", pairs).status in (400, 403) and study.store.answers() == []


def test_the_same_words_are_said_to_be_the_same(tmp_path):
    from tests.study.studies import responses

    table = responses(contexts=3, same=(0, 1, 2), policies=("zz-base-policy", "zz-tuned-policy"))
    with study_served(tmp_path / "study", "pairs", table=table, items_per_annotator=2, checks_every=0) as running:
        assert "a tie is an answer" in running.begun().get("item/1").text


def test_two_of_three_that_have_the_same_words_are_named_by_letter(tmp_path):
    from tests.study.studies import responses

    table = responses(contexts=3)
    rows = [{**row, "response": "Fine." if "other" not in row["policy"] else "Well."} for row in table.to_pylist()]
    same = table.from_pylist(rows, schema=table.schema)
    with study_served(tmp_path / "study", table=same, items_per_annotator=2, checks_every=0) as running:
        caller = running.begun()
        page = caller.get("item/1")
        item = running.study.items[running.store.places("a001")[0]]
        letters = [
            letter
            for letter, one in zip("ABC", lettered("a001", running.study.settings.seed, item), strict=True)
            if one.text == "Fine."
        ]
        assert f"Responses {letters[0]} and {letters[1]} have the same words." in page.text
        assert "These responses have the same words" not in page.text


def test_scripts_in_answers_stay_text(study):
    caller = study.begun()
    reason = "</textarea><script>alert(1)</script> since it listens to me, I think."
    answered(caller, caller.get("item/1"), reason=reason)
    page = caller.get("item/1")
    assert "<script>alert" not in page.text and "&lt;/textarea&gt;" in page.text
    assert page.forms.chosen()["reason"] == [reason]


def test_the_instructions_can_be_read_again(study):
    caller = study.begun()
    page = caller.get("instructions")
    assert page.status == 200 and "Go on" in page.text and caller.get("item/1").status == 200
    assert urljoin(page.url, "item/1") == caller.get("").url.partition("?")[0]


def test_a_link_of_one_s_own_is_told_for_a_break(study):
    page = study.begun("a003").get("item/1")
    assert f"{study.address}a/{study.tokens['a003']}" in page.text
    other = Caller(study.address)
    assert other.get(f"a/{study.tokens['a003']}").path == "/item/1"
