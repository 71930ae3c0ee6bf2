"""From what people rate to a corpus."""

import re
from pathlib import Path

import pytest

from apportion.corpus.corpus import Corpus
from apportion.environments.sotopia.evaluation.human_ratings.log import KEPT, raters_in
from apportion.environments.sotopia.evaluation.human_ratings.merge import ByPeople
from apportion.environments.sotopia.evaluation.judging import JudgingChoice, judge_corpus
from apportion.environments.sotopia.evaluation.scores import read_verdicts
from apportion.environments.terminal.console import Screen
from apportion.foundation.errors import InputError
from apportion.foundation.files import locked
from apportion.llm_client.model_spec import ModelSpec
from tests.environments.sotopia.evaluation.judges import damaged, judge, played
from tests.llm_client.openai_server import OpenAIServer, serving


def form(people: ByPeople, path: Path, score: str = "0", most: int = 10**6) -> Path:
    people.write_sheet(path)
    text, done = path.read_text(), 0
    for _ in range(text.count(",,")):
        if done < most:
            text, done = re.sub(r",,\r?$", f",{score},because", text, count=1, flags=re.MULTILINE), done + 1
    path.write_text(text)
    return path


def test_forms_of_several_people_become_ratings_and_another_one_later_joins_them(tmp_path: Path) -> None:
    people = ByPeople(played(tmp_path / "one"), tmp_path / "two")
    rows = people.write_sheet(tmp_path / "blank.csv")
    text = (tmp_path / "blank.txt").read_text()
    assert "===== episode-" in text and "conceding" not in text + (tmp_path / "blank.csv").read_text()
    rated = people.add_sheets({"ann": form(people, tmp_path / "a.csv"), "bob": form(people, tmp_path / "b.csv")})
    assert rated.left == {"ann": 0, "bob": 0} and rated.unread == () and rows % 14 == 0
    people.add_sheets({"eve": form(people, tmp_path / "c.csv", most=3)})
    made = Corpus.open(tmp_path / "two").ratings.to_pylist()
    for name, count in (("ann", rows), ("bob", rows), ("eve", 3)):
        of = [row for row in made if row["annotator"] == name]
        assert len([row for row in of if row["name"] != "overall"]) == count
        assert len([row for row in of if row["name"] == "overall"]) == (count // 7 if name != "eve" else 0)
    assert any(one.judge == "eve" and one.overall is None for one in read_verdicts(tmp_path / "two"))


def test_ratings_by_people_come_along_when_the_corpus_is_rated_and_judged_further(tmp_path: Path) -> None:
    people = ByPeople(played(tmp_path / "one", pairs=1), tmp_path / "two")
    path = form(people, tmp_path / "a.csv")
    people.add_sheets({"ann": path})
    further = ByPeople(Corpus.open(tmp_path / "two"), tmp_path / "three")
    assert further.add_sheets({"bob": path}).left == {"bob": 0}
    assert further.add_sheets({"eve": path}).left == {"bob": 0, "eve": 0}
    again = ByPeople(Corpus.open(tmp_path / "two"), tmp_path / "anew", ("ann",))
    assert again.add_sheets({"ann": form(people, tmp_path / "b.csv", most=3)}).left["ann"] > 0
    assert len([row for row in Corpus.open(tmp_path / "anew").ratings.to_pylist() if row["annotator"] == "ann"]) == 3
    three = Corpus.open(tmp_path / "three")
    with serving(OpenAIServer(judge())) as server:
        choice = JudgingChoice(three, chosen=ModelSpec("m", base_url=server.url), without=("eve",))
        judge_corpus(choice, tmp_path / "four")
    assert raters_in(tmp_path / "four") == ["ann", "bob", "eve"]
    named = set(Corpus.open(tmp_path / "four").ratings["annotator"].to_pylist())
    assert named == {"rules", "ann", "bob", "paper@m"}
    assert {one.judge for one in read_verdicts(tmp_path / "four")} == {"ann", "bob", "paper@m"}


def test_a_form_again_replaces_what_is_another_score_now(tmp_path: Path) -> None:
    people = ByPeople(played(tmp_path / "one"), tmp_path / "two")
    path = form(people, tmp_path / "a.csv")
    people.add_sheets({"ann": path})
    before = (tmp_path / "two" / "ratings.parquet").read_bytes()
    assert not any("replace" in note for note in people.add_sheets({"ann": path}).report.notes)
    assert (tmp_path / "two" / "ratings.parquet").read_bytes() == before
    path.write_text(path.read_text().replace(",0,because", ",-1,because").replace(",0,10,-1", ",0,10,1"))
    assert any("ratings replace earlier ones" in note for note in people.add_sheets({"ann": path}).report.notes)


def test_a_person_rates_at_a_terminal_stops_and_goes_on(tmp_path: Path) -> None:
    corpus = played(tmp_path / "one", pairs=1)
    people = ByPeople(corpus, tmp_path / "two", ("rules",))

    def screen(*lines: str) -> Screen:
        typed = iter(lines)

        def ask(prompt: str) -> str:
            try:
                return next(typed)
            except StopIteration:
                raise EOFError from None

        return Screen(ask, lambda text: None)

    first = people.ask("ann", screen("0", "so", "0", "so"))
    everything = first.left["ann"] + 2
    assert people.ask("ann", screen("0", "so")).left == {"ann": everything - 3}
    assert people.ask("ann", screen(*["0", ""] * everything)).left == {"ann": 0}
    made = Corpus.open(tmp_path / "two").ratings.to_pylist()
    assert {row["annotator"] for row in made} == {"ann"} and len(made) == everything // 7 * 8


def test_what_cannot_be_used_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    corpus = played(tmp_path / "one", pairs=1)
    people = ByPeople(corpus, tmp_path / "two")
    people.write_sheet(tmp_path / "blank.csv")
    with pytest.raises(InputError, match="no score is filled in"):
        people.add_sheets({"ann": tmp_path / "blank.csv"})
    with pytest.raises(InputError, match="a person's name is needed"):
        people.add_sheets({"paper@m": form(people, tmp_path / "a.csv")})
    with pytest.raises(InputError, match="a person's name is needed"):
        people.ask("rules", Screen(input, print))
    with pytest.raises(InputError, match="of its rows cannot be used"):
        people.add_sheets({"ann": form(people, tmp_path / "a.csv"), "bob": form(people, tmp_path / "b.csv", "7.5")})
    assert not (tmp_path / "two").exists()
    with pytest.raises(InputError, match="is not written over"):
        ByPeople(corpus, tmp_path / "one").add_sheets({})
    people.add_sheets({"ann": form(people, tmp_path / "a.csv")})
    with pytest.raises(InputError, match="it has ratings by 'ann' already"):
        ByPeople(Corpus.open(tmp_path / "two"), tmp_path / "three").add_sheets({"ann": tmp_path / "a.csv"})
    with pytest.raises(InputError, match="not empty"):
        ByPeople(Corpus.open(tmp_path / "two"), tmp_path / "one").add_sheets({"bob": tmp_path / "a.csv"})
    with (
        locked(tmp_path / "two" / f"{KEPT}.lock", "", InputError),
        pytest.raises(InputError, match="somebody else is rating there"),
    ):
        people.add_sheets({"ann": tmp_path / "a.csv"})


def test_a_full_disk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    people = ByPeople(played(tmp_path / "one", pairs=1), tmp_path / "two")
    path = form(people, tmp_path / "a.csv")

    def full(*arguments: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("apportion.environments.sotopia.evaluation.human_ratings.log.RatingLog.add", full)
    with pytest.raises(InputError, match=f"{KEPT}: cannot be written \\(No space left"):
        people.add_sheets({"ann": path})


def test_sessions_that_nobody_can_rate_are_named(tmp_path: Path) -> None:
    first, second, *others = damaged(tmp_path / "one")
    people = ByPeople(Corpus.open(tmp_path / "one"), tmp_path / "two")
    rated = people.add_sheets({"ann": form(people, tmp_path / "a.csv")})
    assert [one.session_id for one in rated.unread] == [first]
    assert [one.session_id for one in rated.report.left_out] == [second]
    assert {one.session_id for one in read_verdicts(tmp_path / "two")} == set(others)
