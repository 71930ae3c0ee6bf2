import json

import pytest

from apportion.environments.negotiation.human_study.progress_log import KEPT, ParticipantSession, checked
from apportion.environments.negotiation.human_study.report import as_json, as_markdown, tables
from apportion.environments.negotiation.human_study.results import StudiedGame, StudyResults, read_study_results
from apportion.environments.negotiation.human_study.session import Study
from apportion.environments.negotiation.human_study.settings import StudySettings
from apportion.environments.negotiation.scripts import ConcedingAgent, FairAgent, GreedyAgent
from apportion.foundation.errors import InputError
from tests.environments.negotiation.human_study.people import Participant

SETTINGS = StudySettings(title="Bar|gaining", consent="Stop any time.", agents=("greedy", "conceding"), games=2)
AGENTS = {"greedy": GreedyAgent(), "conceding": ConcedingAgent(), "fair": FairAgent()}


def test_what_three_people_did_and_said(tmp_path):
    for name, person in (("p1", Participant("5")), ("p2", Participant("3")), ("p3", Participant(consents="no"))):
        Study(SETTINGS, AGENTS, tmp_path, person.screen).sit(name)
    with pytest.raises(EOFError):
        Study(SETTINGS, AGENTS, tmp_path, Participant(stop_after=12).screen).sit("p4")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    results = read_study_results(SETTINGS, tmp_path)
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert (results.took_part, results.declined, results.unfinished) == (3, 1, 1)
    reached, figure_4, figure_9 = tables(results)
    assert figure_4.rows["greedy"]["fair"].value == 4.0 and figure_4.rows["greedy"]["fair"].tasks == 2
    assert set(figure_9.columns) > set(figure_4.columns) and len(figure_9.columns) == 9
    assert reached.rows["conceding"]["agreement (%)"].value <= 100.0
    document = json.loads(as_json(SETTINGS.title, results))
    assert document["people"] == {"took_part": 3, "declined": 1, "unfinished": 1}
    assert document["tables"][1]["rows"]["greedy"]["fair"] == {"people": 2, "value": 4.0, "low": 3.0, "high": 5.0}
    page = as_markdown(SETTINGS.title, results)
    assert (
        "# Bar\\|gaining" in page and "4.00 [3.00, 5.00] (n = 2)" in page and "\\<b\\>fun" in page and "p1" not in page
    )


def test_no_control_character_reaches_the_page() -> None:
    said = "one\x1b[2J\u202etwo\x00"
    page = as_markdown(f"A{said}", StudyResults(("greedy",), (game("p1", (5, 5), comments=said),), 1, 0, 0))
    assert "# Aone\\\\x1b[2J\\\\u202etwo\\\\x00" in page
    assert page.count("u202e") == 2 and all(letter.isprintable() or letter == "\n" for letter in page)


def game(participant, points, agreed=True, pareto=True, **answers):
    return StudiedGame(participant, "greedy", points, agreed, pareto, 4, answers)


def test_means_are_over_people_and_pareto_over_deals():
    games = (game("a", (8, 4)), game("a", (6, 6), pareto=False), game("b", (0, 0), agreed=False, pareto=None))
    (reached, thought, _) = tables(StudyResults(("greedy", "never"), games, 2, 0, 0))
    row = reached.rows["greedy"]
    assert row["advantage"].value == 1.0 and row["agreement (%)"].value == 50.0
    assert row["Pareto-optimal, of deals (%)"].value == 50.0 and row["Pareto-optimal, of deals (%)"].tasks == 1
    assert thought.rows["greedy"]["fair"] is None and reached.rows["never"]["advantage"] is None
    page = as_markdown("t", StudyResults(("greedy", "never"), games, 2, 0, 0))
    assert "| 50.00 (n = 1) |" in page and "| never | – |" in page and "Comments" not in page


def test_files_of_another_study_or_damaged(tmp_path):
    Study(SETTINGS, AGENTS, tmp_path, Participant().screen).sit("p1")
    with pytest.raises(InputError, match="begun with another study file"):
        read_study_results(SETTINGS.model_copy(update={"seed": 2}), tmp_path)
    log = tmp_path / "p1" / "episodes.jsonl"
    whole = log.read_text()
    log.write_text(whole.replace('"game-1"', '"game-9"'))
    with pytest.raises(InputError, match="game-1 is not there, and was played"):
        read_study_results(SETTINGS, tmp_path)
    cut = [line for line in whole.splitlines() if '"step":0}' not in line or "game-1" not in line]
    log.write_text("\n".join(cut) + "\n")
    with pytest.raises(InputError, match=r"episodes.jsonl: line"):
        read_study_results(SETTINGS, tmp_path)
    lines = [json.loads(line) for line in whole.splitlines()]
    first = next(line for line in lines if line["episode"] == "game-1" and line.get("step") == 0)
    first["acts"][0][1] = "agree"
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(InputError, match=r"game-1: .* Bring back the file"):
        read_study_results(SETTINGS, tmp_path)
    (tmp_path / "p1" / KEPT).write_text("{\n")
    with pytest.raises(InputError, match="line 1"):
        read_study_results(SETTINGS, tmp_path)


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
