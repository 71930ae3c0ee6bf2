import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from apportion.corpus.corpus import Corpus
from apportion.corpus.schema import RESPONSES
from apportion.foundation.errors import InputError
from apportion.pipeline.error_slices.run_slices import run_slices, write_slices
from apportion.viewer.bundle import write_bundle
from apportion.viewer.data.listing import Query as ListQuery
from apportion.viewer.data.listing import listing
from apportion.viewer.data.run import serve_run
from apportion.viewer.data.run_location import RunPlace, beside, open_place
from apportion.viewer.labels.label import question_on
from apportion.viewer.labels.label_store import Overlay, overlay_beside
from apportion.viewer.pages.links import Links
from tests.viewer.pages.test_compare import audit, responses, run_of
from tests.viewer.runs import write_viewed_run

SESSIONS = 24
EVIL = '<script>alert(1)</script> "quoted" javascript:alert(2) \u202eturned'


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> RunPlace:
    """A run whose sessions are two pages of a list, with slices."""
    run = write_viewed_run(tmp_path_factory.mktemp("bundled"), sessions=SESSIONS)
    episodes = [e for one in Corpus.open(run.parent / "corpus").iter_sessions() for e in one.episodes()]
    write_slices(tuple(run_slices(episodes, pq.read_table(run / "rewards.parquet"))), run / "slices")
    return open_place(run)


@pytest.fixture(scope="module")
def bundle(place, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("out") / "bundle"
    with pytest.MonkeyPatch.context() as patch:
        for module in ("bundle", "data.listing"):
            patch.setattr(f"apportion.viewer.{module}.PAGE", 20)
        report = write_bundle(place, out)
    assert report.sessions == SESSIONS and report.recordings == 0
    assert report.pages == len(list(out.rglob("*.html")))
    return out


def pages_of(bundle: Path) -> dict[Path, str]:
    return {path: path.read_text(encoding="utf-8") for path in bundle.rglob("*.html")}


def test_every_address_leads_to_a_file_and_to_a_place_in_it(bundle):
    pages = pages_of(bundle)
    for path, html in pages.items():
        for address in re.findall(r'(?:href|src)="([^"]*)"', html):
            parts = urlsplit(address)
            assert not parts.scheme and not parts.netloc and not parts.query, (path, address)
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert target.is_file() and target.is_relative_to(bundle), (path, address)
            if parts.fragment and target.suffix == ".html":
                assert f'id="{parts.fragment}"' in pages[target], (path, address)


def test_the_list_goes_on_and_each_method_has_its_slices(bundle):
    first, second = (bundle / name for name in ("index.html", "index~~page-2.html"))
    assert "index~~page-2.html" in first.read_text() and 'href="index.html"' in second.read_text()
    assert "What costs us" in (bundle / "slices.html").read_text()
    assert (bundle / "slices~~number-1.html").is_file()


def data_of(bundle: Path) -> dict:
    """What the list's script loads, as a script reads it."""
    text = (bundle / "data" / "sessions.js").read_text(encoding="ascii")
    return json.loads(text.removeprefix("window.apportionSessions = ").removesuffix(";\n"))


def test_the_whole_list_and_all_that_was_said_can_be_searched(place, bundle):
    data, index = data_of(bundle), serve_run(place).index
    shown = "".join(path.read_text() for path in sorted(bundle.glob("index*.html")))
    assert len(data["rows"]) == SESSIONS and all(row[0].strip() in shown for row in data["rows"])
    talks = {talk[0]: talk[1] for talk in data["talks"]}
    corpus = Corpus.open(place.corpus)
    for session_id in corpus.session_ids():
        turns = corpus.session(session_id).turns
        assert talks[session_id] == [[turn.turn, turn.speaker, turn.text] for turn in turns]
    for sort in data["columns"]:
        at = data["columns"].index(sort)
        server = listing(index, ListQuery(sort=sort, method="sentiment")).rows[0].session_id
        known = [row for row in data["rows"] if row[4][at] is not None] or data["rows"]
        own = min(known, key=lambda row: row[4][at] or 0)
        assert data["talks"][own[1]][0] == server, sort


@pytest.fixture(scope="module")
def compared(place, tmp_path_factory) -> Path:
    """A bundle with all that can be compared."""
    folder = tmp_path_factory.mktemp("compared")
    own, other = run_of(folder / "first", place.folder), run_of(folder / "second", place.folder)
    audit(own.folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("apportion.viewer.comparisons.methods.PAGE", 20)
        write_bundle(own, folder / "out", around=beside(own, None, other, responses(folder / "responses.parquet")))
    return folder / "out"


def test_every_comparison_is_a_file_that_leads_to_the_others(compared):
    pages = pages_of(compared)
    own = {path.relative_to(compared).as_posix(): html for path, html in pages.items()}
    # Two methods of two runs are six pairs, each of all sessions; four voices against one name; three policies.
    pairs = [name for name in own if re.fullmatch(r"compare(~~number-\d)?\.html", name)]
    assert len(pairs) == 6 and len([name for name in own if name.startswith("compare~~")]) == 5 + 6
    assert len([name for name in own if name.startswith("compare/people")]) == 4
    assert len([name for name in own if name.startswith("compare/policies")]) == 3
    titles = {re.search(r'aria-current="true">([^<]*)</a></li>', own[name])[1] for name in pairs}
    assert len(titles) == 6 and "sentiment · sentiment of second" in titles
    assert "It holds." in own["compare/audit.html"] and "At nine." in own["compare/policies.html"]
    assert 'class="scatter' in own["compare/people.html"] and "../session/s03.html#turn-" in own["compare/people.html"]
    test_every_address_leads_to_a_file_and_to_a_place_in_it(compared)


def test_a_long_comparison_is_cut_and_says_so(place, tmp_path, monkeypatch):
    monkeypatch.setattr("apportion.viewer.pages.compare.MOST_LINES", 10)
    write_bundle(place, tmp_path / "out")
    html = (tmp_path / "out" / "compare.html").read_text()
    assert f"This copy has the first 10 of {SESSIONS} sessions." in html and "1–10 of 10" in html
    assert not (tmp_path / "out" / "compare~~page-2.html").exists()


@pytest.mark.slow
def test_a_run_with_nothing_to_compare_has_the_pages_all_the_same(place, tmp_path):
    shutil.copytree(place.folder, tmp_path / "run", ignore=shutil.ignore_patterns("viewer"))
    (tmp_path / "run" / "rewards.parquet").unlink()
    write_bundle(RunPlace(tmp_path / "run", place.corpus), tmp_path / "out")
    said = {
        "compare": "There is nothing to compare.", "compare/people": "This run has no rewards.",
        "compare/audit": "This run has no audit.", "compare/policies": "No responses of policies are here.",
        "index": "no rewards",
    }  # fmt: skip
    for name, words in said.items():
        assert words in (tmp_path / "out" / f"{name}.html").read_text(), name


def test_no_page_knows_where_it_was_made_or_a_token(place, bundle):
    for path, html in pages_of(bundle).items():
        assert str(place.folder.parent) not in html and "token" not in html.lower().replace("tokens.css", ""), path


def test_what_is_there_is_never_replaced(place, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match=r"out: exists, and is not replaced"):
        write_bundle(place, tmp_path / "out")
    assert (tmp_path / "out" / "mine.txt").read_text() == "mine"
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"exists"):
        write_bundle(place, tmp_path / "link")


def test_what_comes_to_be_there_meanwhile_is_not_replaced_either(place, tmp_path, monkeypatch):
    def meanwhile(*_: object) -> str:
        (tmp_path / "out").mkdir(exist_ok=True)
        (tmp_path / "out" / "mine.txt").write_text("mine")
        return "a page"

    monkeypatch.setattr("apportion.viewer.bundle.slices.html", meanwhile)
    with pytest.raises(InputError, match=r"out: cannot be written"):
        write_bundle(place, tmp_path / "out")
    assert [path.name for path in tmp_path.rglob("*")] == ["out", "mine.txt"]


def test_a_place_that_cannot_be_written_to(place, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"cannot be written"):
        write_bundle(place, tmp_path / "file" / "out")


def test_what_breaks_off_leaves_nothing(place, tmp_path, monkeypatch):
    def broken(*_: object) -> str:
        raise RuntimeError("broken")

    monkeypatch.setattr("apportion.viewer.bundle.slices.html", broken)
    with pytest.raises(RuntimeError, match="broken"):
        write_bundle(place, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_recordings_go_with_no_pseudonyms(place, tmp_path):
    with pytest.raises(InputError, match=r"--media goes with no --pseudonyms"):
        write_bundle(place, tmp_path / "out", media=True, pseudonyms=True)


def named(place: RunPlace, folder: Path) -> RunPlace:
    """The run with people's names, who are spoken to by them, and a session id that is no name."""
    shutil.copytree(place.folder, folder / "run", ignore=shutil.ignore_patterns("store", "viewer"))
    names = {"user": "Marguerite Duval", "bot": "Osgood"}
    corpus = Corpus.open(place.corpus)

    def changed(table: pa.Table) -> pa.Table:
        for at, column in enumerate(table.schema):
            if column.name in ("speaker", "rater", "target"):
                values = [names.get(value, value) for value in table.column(column.name).to_pylist()]
                table = table.set_column(at, column, pa.array(values, column.type))
            if column.name == "text":
                values = [f"Marguerite, {EVIL}: {value}" for value in table.column("text").to_pylist()]
                table = table.set_column(at, column, pa.array(values, column.type))
            if column.name == "annotator" and "value" in table.column_names:
                table = table.set_column(at, column, pa.array(["Hildegard"] * len(table), column.type))
        return table

    Corpus.of(folder / "corpus", {name: changed(table) for name, table in corpus.tables.items()}).write(
        folder / "corpus"
    )
    rewards = folder / "run" / "rewards.parquet"
    pq.write_table(changed(pq.read_table(rewards)), rewards)
    for path in (folder / "run" / "slices").glob("*.json"):
        path.write_text(
            path.read_text().replace('"user"', '"Marguerite Duval"').replace('"text": "', '"text": "Marguerite ')
        )
    for path in (folder / "run" / "projections").glob("*.json"):
        document = json.loads(path.read_text().replace('"user"', '"Marguerite Duval"').replace('"bot"', '"Osgood"'))
        document["residuals"] = [{**row, "residual": 1.5} for row in document["residuals"]]
        path.write_text(json.dumps(document))
    return RunPlace(folder / "run", folder / "corpus")


def test_people_have_other_names_on_request_and_everything_is_escaped(place, tmp_path):
    shown = named(place, tmp_path)
    record = json.loads((shown.folder / "run.json").read_text())
    record["warnings"] = [f"{shown.folder}/models: {shown.corpus}/media is odd, and so is {Path.home()}/x"]
    (shown.folder / "run.json").write_text(json.dumps(record))
    write_bundle(shown, tmp_path / "plain")
    write_bundle(shown, tmp_path / "other", pseudonyms=True)
    plain, other = pages_of(tmp_path / "plain"), pages_of(tmp_path / "other")
    assert any("Marguerite" in html for html in plain.values())
    for html in other.values():
        assert not re.search("marguerite|duval|osgood|hildegard", html, re.IGNORECASE)
    for html in (*plain.values(), *other.values()):
        assert "<script>alert" not in html and "\u202e" not in html and not re.search(r'="\s*javascript:', html)
    assert any("&lt;script&gt;alert(1)&lt;/script&gt;" in html for html in other.values())
    for bundle in (tmp_path / "plain", tmp_path / "other"):
        index = (bundle / "index.html").read_text()
        assert "RUN/models: CORPUS/media is odd, and so is ~/x" in index
        assert set(re.findall('class="c-residual">([^<]*)</td>', index)) == {"+1.50"}
        data = data_of(bundle)
        rows = "".join(row[0] for row in data["rows"])
        assert "<script" not in rows and "\u202e" not in rows
    assert not re.search("marguerite|duval|osgood|hildegard", json.dumps(data), re.IGNORECASE)


def test_responses_and_warnings_have_no_names_either_and_labels_of_the_overlay_stay_at_home(place, tmp_path):
    shown = named(place, tmp_path)
    record = json.loads((shown.folder / "run.json").read_text())
    record["warnings"] = ["session s03: Osgood and MARGUERITE have no recording"]
    record["config"]["notes"] = ["Osgood spoke to Marguerite"]
    (shown.folder / "run.json").write_text(json.dumps(record))
    said = tmp_path / "responses.parquet"
    pq.write_table(
        pa.Table.from_pylist(
            [
                {**row, "response": f"Dear Duval, {row['response']}"}
                for row in pq.read_table(responses(said)).to_pylist()
            ],
            schema=RESPONSES.arrow,
        ),
        said,
    )
    shutil.copytree(shown.folder, tmp_path / "second")
    other = RunPlace(tmp_path / "second", shown.corpus)
    overlay = Overlay(overlay_beside(shown.folder))
    overlay.ask(question_on("thumbs", "osgood"))
    write_bundle(shown, tmp_path / "out", around=beside(shown, None, other, said), pseudonyms=True)
    for path, html in pages_of(tmp_path / "out").items():
        assert not re.search("marguerite|duval|osgood", html, re.IGNORECASE), path
        assert "No session has values of both" not in html, path
    policies = (tmp_path / "out" / "compare" / "policies.html").read_text()
    assert "Dear " in policies and "gone" not in policies, "of a session that is not there nobody knows the names"
    index = (tmp_path / "out" / "index.html").read_text()
    assert "session s03: (a name) and" in index and "(a name) spoke to (a name)" in index


def test_addresses_of_a_bundle():
    links = replace(Links("session/s1"), bundled=True)
    assert links.session("s2", 4, method="rrd") == "../session/s2.html#turn-4"
    assert links.page("index", page=1) == "../index.html" and links.page("index", page=3) == "../index~~page-3.html"
    assert links.media("s2", 0) == "" and replace(links, recorded=True).media("s2", 0) == "../media/s2/0"
