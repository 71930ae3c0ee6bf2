from collections import Counter
from functools import partial
from threading import Barrier, Thread

import pytest

from apportion.foundation.errors import InputError
from apportion.study.design.create import next_version
from apportion.study.design.folder import StudyFolder
from apportion.study.rows import AnswerRow
from apportion.study.store.database import TABLES
from apportion.study.store.rows import (
    Answer,
    Assignment,
    FullError,
    NoSuchLinkError,
    NotTheirsError,
    StaleError,
    StudyStoreError,
)
from apportion.study.store.store import Store
from tests.study.studies import answers_to, study_in


def someone(store):
    """An annotator who has agreed and read the instructions."""
    (link,) = store.add_links(1)
    store.agree(link.annotator)
    store.read_instructions(link.annotator)
    return link.annotator


def answer(store, item, marked=1, **more):
    return Answer(answers_to(store.study.criteria, store.study.items[item], marked), **more)


def answer_all(store, annotator, most=100):
    for number in range(most):
        place = store.next_place(annotator)
        if place.kind == "done":
            return number
        store.save(annotator, place.item, answer(store, place.item), 0, f"page{number}")
    return most


def answer_by_others(store):
    """Others come and answer until no item is short of people."""
    with pytest.raises(FullError):
        while True:
            answer_all(store, someone(store))


def together(tasks):
    threads = [Thread(target=task) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_a_whole_visit(store):
    (link,) = store.add_links(1)
    assert link.annotator == "a001" and store.enter(link.token).consented is False
    assert store.next_place("a001") == Assignment("consent")
    store.agree("a001")
    assert store.next_place("a001") == Assignment("instructions")
    store.read_instructions("a001")
    practice = store.study.settings.practice
    assert store.next_place("a001") == Assignment("practice", practice[0], 1, 1)
    own = store.places("a001")
    assert own[0] == practice[0] and len(own) == 1 + 4 + 2 and sum(item in store.study.checks for item in own) == 2
    with pytest.raises(InputError, match="a001 has 7 items left to answer"):
        store.finish("a001")
    met = []
    for number in range(7):
        place = store.next_place("a001")
        met.append((place.kind, place.item, place.number, place.total))
        store.save("a001", place.item, answer(store, place.item), 0, f"page{number}")
    assert [item for _, item, _, _ in met] == list(own)
    assert met[1:] == [("item", item, number, 6) for number, item in enumerate(own[1:], start=1)]
    assert store.next_place("a001").kind == "done"
    assert store.finish("a001") == store.study.settings.completion == store.finish("a001")
    assert store.enter(link.token).finished
    assert [row.item for row in store.answers()] == sorted(own)


def test_answers_are_as_they_were_given(store):
    name = someone(store)
    item = store.places(name)[1]
    given = answer(store, item, reason="  Because\n<b>& ☃ '; DROP TABLE study;--", seconds=12.5, focus_lost=2)
    saved = store.save(name, item, given, 0, "page1")
    assert saved.answers == given.answers and saved.reason == given.reason.strip()
    assert (saved.seconds, saved.focus_lost, saved.revision, saved.at) == (12.5, 2, 1, "1970-01-12T13:46:40+00:00")
    assert store.answer_of(name, item) == saved and store.answers() == [saved]
    assert store.answer_of(name, store.places(name)[2]) is None


def test_an_answer_is_changed_by_who_has_seen_it_and_time_adds_up(store):
    name = someone(store)
    item = store.places(name)[1]
    other = dict.fromkeys(store.study.criteria.by_name, "tie")
    store.save(name, item, answer(store, item, seconds=3, focus_lost=1), 0, "page1")
    changed = store.save(name, item, Answer(other, seconds=4, focus_lost=2), 1, "page2")
    assert (changed.answers, changed.revision, changed.seconds, changed.focus_lost) == (other, 2, 7, 3)
    assert store.answers() == [changed]


@pytest.mark.parametrize("revision", [0, 2])
def test_two_tabs_do_not_overwrite_each_other(store, revision):
    name = someone(store)
    item = store.places(name)[1]
    kept = store.save(name, item, answer(store, item), 0, "tab1")
    with pytest.raises(StaleError, match="given in another tab or window") as stale:
        store.save(name, item, answer(store, item), revision, "tab2")
    assert stale.value.now == kept and store.answers() == [kept]


def test_an_answer_to_an_item_that_is_not_theirs_is_refused(store):
    one, other = someone(store), someone(store)
    foreign = next(item.item for item in store.study.counted if item.item not in store.places(one))
    for item in (foreign, "i9999", "'; --"):
        with pytest.raises(NotTheirsError, match=f"is none of {one}'s"):
            store.save(one, item, Answer({}), 0, "page1")
    (link,) = store.add_links(1)
    with pytest.raises(NotTheirsError):
        store.save(link.annotator, store.places(other)[0], Answer({}), 0, "page1")
    assert store.answers() == []


@pytest.mark.parametrize("nonce", ["", "x" * 65])
def test_what_is_no_answer_is_refused(store, nonce):
    name = someone(store)
    item = store.places(name)[1]
    with pytest.raises(InputError, match="better: not answered"):
        store.save(name, item, Answer({}), 0, "page1")
    with pytest.raises(InputError, match="the page's number has"):
        store.save(name, item, answer(store, item), 0, nonce)
    assert store.answers() == []


def test_figures_that_a_page_makes_up_are_held_in_bounds(store):
    name = someone(store)
    item = store.places(name)[1]
    saved = store.save(name, item, answer(store, item, seconds=float("nan"), focus_lost=-5), 0, "page1")
    assert (saved.seconds, saved.focus_lost) == (0, 0)
    saved = store.save(name, item, answer(store, item, seconds=1e300, focus_lost=10**12), 1, "page2")
    assert (saved.seconds, saved.focus_lost) == (86_400, 10_000)


def test_who_has_finished_changes_nothing(store):
    name = someone(store)
    answer_all(store, name)
    item = store.places(name)[1]
    before = store.answer_of(name, item)
    store.finish(name)
    with pytest.raises(InputError, match=f"{name} has finished"):
        store.save(name, item, answer(store, item), 1, "page9")
    assert store.save(name, item, answer(store, item), 0, "page1") == before
    assert store.answer_of(name, item) == before


def test_a_link_lets_in_whose_it_is_and_no_other_does(store):
    links = store.add_links(3)
    assert [store.enter(link.token).id for link in links] == ["a001", "a002", "a003"]
    for token in ("", "a001", links[0].token[:-1], links[0].token.swapcase(), "\udcff"):
        with pytest.raises(NoSuchLinkError, match="lets nobody in"):
            store.enter(token)
    with pytest.raises(NoSuchLinkError, match="no annotator 'a999'"):
        store.agree("a999")


def test_tokens_are_kept_as_hashes_alone(tmp_path, study):
    store = Store.open(None, study)
    (link,) = store.add_links(1)
    store.close()
    kept = b"".join(path.read_bytes() for path in study.path.glob("answers.sqlite*"))
    assert b"a001" in kept and link.token.encode() not in kept


def test_nothing_about_a_person_is_kept_but_an_id_and_what_they_answered():
    kept = {table.name: set(table.columns.keys()) for table in TABLES.sorted_tables}
    assert kept == {
        "study": {"number", "digest", "version"},
        "study_annotators": {"id", "link", "public", "consented", "instructed", "finished", "active_at"},
        "study_assignments": {"annotator", "item", "place", "released"},
        "study_answers": {*AnswerRow.__dataclass_fields__, "nonce"},
    }


def test_the_public_link_has_a_limit_and_ids_are_the_platforms(place, tmp_path):
    study = study_in(tmp_path / "study", "pairs")
    toml = study.path / "study.toml"
    toml.write_text(toml.read_text().replace("public = false", "public = true").replace("= 100", "= 3"))
    store = Store.open(place, StudyFolder.open(study.path))
    (own,) = store.add_links(1)
    names = [store.enter_public(name).annotator for name in ("5f3c_PID-9", "a002", None)]
    assert own.annotator == "a001" and names == ["5f3c_PID-9", "a002", "a004"]
    with pytest.raises(StudyStoreError, match="5f3c_PID-9 has begun already"):
        store.enter_public("5f3c_PID-9")
    with pytest.raises(StudyStoreError):
        store.enter_public("a001")
    with pytest.raises(InputError, match="the link's token is none"):
        store.enter_public("other", "short")
    with pytest.raises(FullError, match="as many people as it needs"):
        store.enter_public("another")
    assert [one.id for one in store.annotators()] == sorted([*names, "a001"])
    store.close()


@pytest.mark.parametrize("name", ["", "a b", "<script>", "x" * 65, "Ä", "a\n"])
def test_what_is_no_id_lets_nobody_in(tmp_path, name):
    study = study_in(tmp_path / "study", "pairs")
    toml = study.path / "study.toml"
    toml.write_text(toml.read_text().replace("public = false", "public = true"))
    store = Store.open(None, StudyFolder.open(study.path))
    with pytest.raises(InputError, match="an id has 1 to 64 letters"):
        store.enter_public(name)
    assert store.annotators() == ()


def test_a_study_without_a_public_link_has_none(store):
    with pytest.raises(FullError, match="has no public link"):
        store.enter_public("somebody")


def test_every_item_is_answered_by_the_wanted_number_and_then_nobody_is_needed(store):
    # 11 items that count, 3 people each, 4 a person: 9 people do it, the last one with a single item.
    names = [someone(store) for _ in range(9)]
    for name in names:
        answer_all(store, name)
    counted = {item.item for item in store.study.counted}
    people = Counter(row.item for row in store.answers() if row.item in counted)
    assert len(counted) == 11 and people == dict.fromkeys(counted, 3)
    (link,) = store.add_links(1)
    with pytest.raises(FullError, match="has all the answers that it needs"):
        store.agree(link.annotator)
    assert store.next_place(link.annotator) == Assignment("consent")


def test_who_abandons_gives_their_items_to_others_and_comes_back_to_what_is_left(store, clock):
    gone = someone(store)
    first = store.places(gone)
    store.save(gone, first[0], answer(store, first[0]), 0, "page0")
    store.save(gone, first[1], answer(store, first[1]), 0, "page1")
    clock.now += 25 * 3_600
    answer_by_others(store)
    counted = {item.item for item in store.study.counted}
    people = Counter(row.item for row in store.answers() if row.item in counted)
    assert people == dict.fromkeys(counted, 3)
    left = [item for item in first[2:] if item in store.study.checks]
    assert answer_all(store, gone) == len(left)
    assert store.places(gone) == tuple(item for item in first if item in (*first[:2], *left))
    assert store.finish(gone)


@pytest.mark.parametrize("instructed", [True, False])
def test_who_sends_a_page_that_was_open_for_a_day_does_not_get_items_that_others_have_answered(
    store, clock, instructed
):
    (link,) = store.add_links(1)
    gone = link.annotator
    store.agree(gone)
    own = store.places(gone)
    clock.now += 25 * 3_600
    answer_by_others(store)
    if instructed:
        store.save(gone, own[1], answer(store, own[1]), 0, "page1")
    store.read_instructions(gone)
    left = {own[0], *store.study.checks} | ({own[1]} if instructed else set())
    assert set(store.places(gone)) == left & set(own)
    answer_all(store, gone)
    assert store.finish(gone)


def test_who_is_away_for_less_keeps_their_items(store, clock):
    name = someone(store)
    own = store.places(name)
    clock.now += 23 * 3_600
    answer_by_others(store)
    assert answer_all(store, name) == len(own) and store.places(name) == own
    counted = {item.item for item in store.study.counted}
    assert max(Counter(row.item for row in store.answers() if row.item in counted).values()) == 3


def test_agreeing_twice_draws_once(store):
    name = someone(store)
    own = store.places(name)
    store.agree(name)
    assert store.places(name) == own


def test_many_at_once_are_balanced_and_lose_nothing(store):
    names = [link.annotator for link in store.add_links(8)]
    barrier, failed = Barrier(len(names)), []

    def take_part(name):
        try:
            barrier.wait()
            store.agree(name)
            store.read_instructions(name)
            answer_all(store, name)
            store.finish(name)
        except Exception as error:
            failed.append(error)

    together([partial(take_part, name) for name in names])
    assert not failed
    expected = {(name, item) for name in names for item in store.places(name)}
    assert {(row.annotator, row.item) for row in store.answers()} == expected
    counted = {item.item for item in store.study.counted}
    people = Counter(row.item for row in store.answers() if row.item in counted)
    assert sum(people.values()) == 8 * 4 and max(people.values()) - min(people.values()) <= 1


def test_the_same_page_sent_by_many_threads_is_one_answer(store):
    name = someone(store)
    item = store.places(name)[1]
    saved, barrier = [], Barrier(6)

    def send():
        barrier.wait()
        saved.append(store.save(name, item, answer(store, item, seconds=2), 0, "page1"))

    together([send] * 6)
    assert len(saved) == 6 and set(map(str, saved)) == {str(saved[0])} and len(store.answers()) == 1


def test_a_study_changed_after_the_first_answer_is_refused_and_a_new_version_begins_anew(place, study, tmp_path):
    store = Store.open(place, study)
    name = someone(store)
    item = store.places(name)[1]
    kept = store.save(name, item, answer(store, item), 0, "page1")
    store.close()
    instructions = study.path / "instructions.md"
    before = instructions.read_text()
    instructions.write_text("Otherwise.\n")
    with pytest.raises(
        InputError, match=r"answers to version 1 of a study, .* was changed after the first answer\. Undo"
    ) as told:
        Store.open(place, StudyFolder.open(study.path))
    assert "told-to-nobody" not in str(told.value)
    after = next_version(study.path, tmp_path / "next")
    with pytest.raises(InputError, match=r"answers to version 1 of a study, .* is version 2"):
        Store.open(place, after)
    fresh = Store.open(None, after)
    assert fresh.answers() == []
    fresh.close()
    instructions.write_text(before)
    again = Store.open(place, StudyFolder.open(study.path))
    assert again.answers() == [kept]
    again.close()


def test_a_study_changed_before_the_first_answer_is_drawn_anew(place, study):
    store = Store.open(place, study)
    name = someone(store)
    (study.path / "instructions.md").write_text("Otherwise.\n")
    changed = Store.open(place, StudyFolder.open(study.path))
    assert changed.next_place(name) == Assignment("consent")
    changed.agree(name)
    with pytest.raises(InputError, match="was changed after the first answer"):
        store.save(name, store.places(name)[0], answer(store, store.places(name)[0]), 0, "page1")
    changed.close()
    store.close()


def test_who_only_reads_drops_nothing_of_who_has_begun(tmp_path):
    study = study_in(tmp_path / "study", "pairs")
    store = Store.open(None, study)
    (link,) = store.add_links(1)
    store.agree(link.annotator)
    places = store.places(link.annotator)
    (study.path / "consent.md").write_text("Other words.\n")
    reading = Store.open(None, StudyFolder.open(study.path), reading=True)
    assert reading.answers() == []
    reading.close()
    assert store.places(link.annotator) == places and store.enter(link.token).consented
    store.close()
