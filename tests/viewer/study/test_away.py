"""The database goes away while a study is served: nothing is confirmed, nothing that was written is lost."""

from __future__ import annotations

from random import Random

REASON = "I would talk to A again, since it listens and asks. The others do not."


def files(study):
    return sorted(study.study.path.glob("answers.sqlite*"))


def test_a_database_that_is_away_and_comes_back(study, tmp_path):
    caller = study.begun()
    page = caller.get("item/1")
    pairs = [*page.forms.hidden(), *page.forms.answers(Random(1), REASON)]
    aside = tmp_path / "aside"
    aside.mkdir()
    held = files(study)
    for path in held:
        path.rename(aside / path.name)
    away = caller.post("item/1", pairs)
    assert away.status == 503 and "Your answer is not saved" in away.text and "is saved." not in away.text
    assert caller.get("item/1").status == 503 and caller.get("thanks").status == 503
    assert caller.get("item/1").headers["retry-after"] == "10"
    assert caller.post("item/1", away.forms.hidden()).status == 503
    for path in held:
        (aside / path.name).rename(path)
    again = caller.post("item/1", away.forms.hidden())
    assert again.path == "/item/2" and "Your answer to the practice is saved" in again.text
    (row,) = study.store.answers()
    assert row.reason == REASON and row.revision == 1


def test_what_was_sent_comes_back_whole(study, tmp_path):
    """Several marks of one question, and a reason with what HTML minds."""
    caller = study.begun()
    page = caller.get("item/1")
    pairs = [*page.forms.hidden(), ("c-fluency", "A"), ("c-fluency", "C"), ("reason", f'"<&>\n{REASON}')]
    moved = files(study)[0]
    moved.rename(tmp_path / "aside.sqlite")
    away = caller.post("item/1", pairs)
    (tmp_path / "aside.sqlite").rename(moved)
    assert sorted(away.forms.hidden()) == sorted(pairs)
