import html
import json
import re
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from apportion.corpus.corpus import Corpus
from apportion.corpus.schema import AUDIT, RESPONSES
from apportion.foundation.errors import InputError
from apportion.viewer.data.run_location import beside, open_place
from apportion.viewer.labels.label import Label, question_on, said_digest
from apportion.viewer.labels.label_store import Overlay
from tests.viewer.asking import ask
from tests.viewer.labels.given import HOSTILE
from tests.viewer.runs import served


def run_of(folder, viewed_run):
    shutil.copytree(viewed_run, folder, ignore=shutil.ignore_patterns("store", "viewer"))
    return open_place(folder, viewed_run.parent / "corpus")


def change_rewards(folder, change):
    path = folder / "rewards.parquet"
    rows = [change(row) for row in pq.read_table(path).to_pylist()]
    pq.write_table(pa.Table.from_pylist(rows, schema=pq.read_schema(path)), path)


def audit(folder, session_id="s03"):
    told = {"clean": (3.0, 1.0, 2.0), "names": (3.0, 1.0, 2.0), "planted-tags": (1.0, 3.0, 2.0)}
    episode = (session_id, "user", "bot", "satisfaction")
    rows = [
        (way, *episode, turn, value, (way, turn) == ("planted-tags", 3), HOSTILE)
        for way, values in told.items()
        for turn, value in zip((1, 3, 5), values, strict=True)
    ]
    columns = [list(column) for column in zip(*rows, strict=True)]
    pq.write_table(pa.table(columns, schema=AUDIT.arrow), folder / "audit.parquet")
    figure = {"value": 0.25, "low": -0.5, "high": 1.0}
    titles = {"names": "other names", "planted-tags": f"planted {HOSTILE}"}
    result = {
        "verdict": "It holds.",
        "rows": [{"perturbation": name, "title": title, "correlation": figure} for name, title in titles.items()],
    }
    (folder / "audit.json").write_text(json.dumps(result))


def responses(path):
    said = [("a", "At nine."), ("b", "at NINE"), ("a", HOSTILE), ("b", "nothing"), ("c", "x")]
    rows = [
        {"session_id": "s03" if number < 2 else "gone", "turn": 1, "context": f"user: {HOSTILE}", "policy": policy,
         "response": text, "seed": 0}
        for number, (policy, text) in enumerate(said)
    ]  # fmt: skip
    pq.write_table(pa.Table.from_pylist(rows, schema=RESPONSES.arrow), path)
    return path


@pytest.fixture
def compared(viewed_run, tmp_path):
    """A run, another one in which `sentiment` is turned round, an audit, responses and labels."""
    place = run_of(tmp_path / "first", viewed_run)
    other = run_of(tmp_path / "second", viewed_run)
    change_rewards(other.folder, lambda row: {**row, "reward": -row["reward"]})
    audit(place.folder)
    around = beside(place, None, other, responses(tmp_path / "responses.parquet"))
    with served(place.folder, place.corpus, around) as running:
        yield running


def test_two_runs_that_say_the_opposite_disagree_on_every_pair(compared):
    page = ask(compared, "compare?a=own.rewards.sentiment&b=other.rewards.sentiment")[1]
    figures = re.findall(r'class="c-dis"><b>([^<]+)</b>', page)
    assert set(figures) <= {"100%", "–"} and figures[0] == "100%"
    assert "sentiment of second" in page
    assert re.search(r'href="session/s\d\d\?method=sentiment#turn-[135]"', page)


def test_a_method_agrees_with_itself_and_uniform_orders_nothing(compared):
    page = ask(compared, "compare?a=own.rewards.sentiment&b=own.rewards.uniform")[1]
    assert set(re.findall(r'class="c-dis"><b>([^<]+)</b>', page)) == {"–"}
    with_another = ask(compared, "compare")[1]
    assert with_another.count('<option value="own.rewards.sentiment" selected>') == 1
    assert with_another.count('<option value="other.rewards.sentiment" selected>') == 1


def test_the_list_is_sorted_narrowed_and_forgives_what_nobody_knows(compared):
    down = ask(compared, "compare?sort=session&down=true")[1]
    ids = re.findall(r'scope="row"><a[^>]*><bdi>(s\d\d)', down)
    assert ids == sorted(ids, reverse=True) and len(ids) == 12
    test = ask(compared, "compare?split=test")[1]
    assert len(re.findall(r'scope="row"', test)) == 3
    assert ask(compared, "compare?a=nobody&b=%3Cscript%3E&split=none&sort=x&page=99")[0] == 200
    assert ask(compared, "compare?page=0")[0] == 422


def test_labels_of_the_corpus_and_of_the_overlay_are_points_that_lead_to_their_turns(compared):
    page = ask(compared, "compare/people")[1]
    assert page.count('r="4"><title>') == 36 and 'href="../session/s03?method=sentiment#turn-1"' in page
    assert "no session has 4 labelled turns that differ" in page
    overlay = Overlay(compared.run.place.folder.with_name("first.labels.jsonl"))
    overlay.ask(question_on("1 to 5", HOSTILE.replace("\u202e", "")[:60]))
    name = HOSTILE.replace("\u202e", "")[:60]
    (text,) = [turn.text for turn in Corpus.open(compared.run.place.corpus).session("s03").turns if turn.turn == 1]
    overlay.add(Label("s03", 1, said_digest("bot", text), "eve", name, 4.0, 1.0, 5.0, True, ""))
    overlay.ask(question_on("1 to 5", "stale"))
    overlay.add(Label("s03", 3, said_digest("bot", "other words"), "eve", "stale", 4.0, 1.0, 5.0, True, ""))
    assert '<option value="stale"' not in ask(compared, "compare/people")[1]
    page = ask(compared, "compare/people?label=" + "%3Cscript%3Ealert(1)")[1]
    assert "&lt;script&gt;alert(1)" in page and "<script>alert" not in page
    only = ask(compared, "compare/people?split=test")[1]
    assert 0 < only.count('r="4"><title>') < 36


def test_a_point_leads_to_the_rating_that_it_is_of(talk_run, tmp_path):
    shutil.copytree(talk_run, tmp_path / "run", ignore=shutil.ignore_patterns("viewer"))
    path = tmp_path / "run" / "rewards.parquet"
    rows = pq.read_table(path).to_pylist()
    rows += [{**row, "name": "warmth"} for row in rows if row["session_id"] == "chat"]
    pq.write_table(pa.Table.from_pylist(rows, schema=pq.read_schema(path)), path)
    with served(tmp_path / "run", talk_run.parent / "corpus") as running:
        page = ask(running, "compare/people?a=own.rewards.judge")[1]
        points = re.findall(r'<a href="\.\./(session/chat[^"]*#turn-2)" aria-label', page)
        below = re.findall(r'<li><a href="\.\./(session/chat[^"]*)"', page)
        titles = [re.findall(r'aria-current="true"><bdi>([^<]*)</bdi>.*?<small>([^<]*)', ask(running, one)[1])
                  for one in [html.unescape(point) for point in points]]  # fmt: skip
    assert len(points) == 2 and {("rating=1" in point) for point in points} == {True, False}
    assert {title[0] for title in titles} == {("bob rates ann", "liking"), ("bob rates ann", "warmth")}
    assert any("rating=1" in one for one in below) == any("rating=1" not in one for one in below)


def test_an_audit_tells_each_session_and_marks_what_was_planted(compared):
    page = ask(compared, "compare/audit")[1]
    assert "It holds." in page and "0.25" in page and "−0.50 to 1.00" in page
    assert page.count('class="planted"') == 1 and 'href="../session/s03#turn-3"' in page
    assert "<script>alert" not in page
    assert re.search(r"<summary><b>0\.00</b>", page), "as asked 1, turned round −1: held 0 on average"


def test_answers_of_two_policies_stand_beside_each_other_the_most_different_first(compared):
    page = ask(compared, "compare/policies")[1]
    assert re.findall(r"<header><b>([0-9]+%)</b>", page) == ["100%", "0%"]
    assert "<script>alert" not in page and "&lt;script&gt;alert(1)" in page
    assert 'href="../session/s03#turn-1"' in page and "session/gone" not in page


def test_a_run_with_nothing_beside_it_says_what_could_be(server):
    assert "apportion view RUN --responses FILE" in ask(server, "compare/policies")[1]
    assert "This run has no audit." in ask(server, "compare/audit")[1]
    assert ask(server, "compare")[1].count("selected") >= 2


def test_another_corpus_s_run_and_a_file_that_is_gone_are_refused(viewed_run, tmp_path):
    place = run_of(tmp_path / "first", viewed_run)
    other = run_of(tmp_path / "second", viewed_run)
    record = json.loads((other.folder / "run.json").read_text())
    record["inputs"]["utterances.parquet"] = "0" * 64
    (other.folder / "run.json").write_text(json.dumps(record))
    with pytest.raises(InputError, match="a run of other utterances than"):
        beside(place, None, other)
    with pytest.raises(InputError, match=r"no such file. Make one with `apportion policy generate`"):
        beside(place, None, None, tmp_path / "gone.parquet")
    with pytest.raises(InputError, match="a folder, and labels are kept in a file"):
        beside(place, tmp_path)


@pytest.mark.parametrize(
    ("file", "path", "said"),
    [
        ("rewards.parquet", "compare", "rewards.parquet: not a readable table"),
        ("audit.json", "compare/audit", "audit.json: the audit cannot be read"),
    ],
)
def test_a_table_that_is_damaged_is_said_and_the_viewer_goes_on(compared, file, path, said):
    (compared.run.place.folder / file).write_bytes(b"PAR1 or not")
    status, page, _ = ask(compared, path)
    assert status == 503 and said in page
    assert ask(compared, "compare/policies")[0] == 200


def test_a_run_that_is_deleted_meanwhile_is_said(compared):
    compared.run.look()  # Within a second of a look nobody looks again: what is gone is met by who reads it.
    shutil.rmtree(compared.run.place.folder)
    for path in ("", "compare", "compare/people", "compare/policies", "session/s03", "media/s03/0"):
        status, page, _ = ask(compared, path)
        assert status == 503 and "cannot be read" in page and "Traceback" not in page, path
