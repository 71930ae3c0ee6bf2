"""A bundle: every page a file, every address in it a file of it, nothing of this machine, nobody's name on request."""

import re
import shutil
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pytest

from corpus.corpus import Corpus
from evaluation.patterns.result import PatternSettings
from foundation.errors import InputError
from pipeline.patterns.write import write_patterns
from tests.viewer.runs import write_viewed_run
from viewer.bundle import write_bundle
from viewer.pages.links import Links
from viewer.reading.place import RunPlace, open_place

EVIL = '<script>alert(1)</script> "quoted" javascript:alert(2) \u202eturned'


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> RunPlace:
    """A run of 60 sessions, which are two pages of a list, with patterns."""
    run = write_viewed_run(tmp_path_factory.mktemp("bundled"), sessions=60)
    list(write_patterns(run, None, (), PatternSettings(), "minilm"))
    return open_place(run)


@pytest.fixture(scope="module")
def bundle(place: RunPlace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("out") / "bundle"
    report = write_bundle(place, out)
    assert report.sessions == 60 and report.recordings == 0
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


def test_the_list_goes_on_and_each_method_has_its_patterns(bundle):
    first, second = (bundle / name for name in ("index.html", "index~~page-2.html"))
    assert "index~~page-2.html" in first.read_text() and 'href="index.html"' in second.read_text()
    assert "What costs us" in (bundle / "patterns.html").read_text()
    assert (bundle / "patterns~~number-1.html").is_file()


def test_no_page_knows_where_it_was_made_or_a_token(place, bundle):
    for path, html in pages_of(bundle).items():
        assert str(place.folder.parent) not in html and "token" not in html.lower().replace("tokens.css", ""), path


def test_a_warning_that_names_a_folder_names_none_here(place, tmp_path):
    import json

    shutil.copytree(place.folder, tmp_path / "run")
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    record["warnings"] = [f"{tmp_path / 'run'}/models: {place.corpus}/media is odd, and so is {Path.home()}/x"]
    (tmp_path / "run" / "run.json").write_text(json.dumps(record))
    write_bundle(RunPlace(tmp_path / "run", place.corpus), tmp_path / "out")
    html = (tmp_path / "out" / "index.html").read_text()
    assert "RUN/models: CORPUS/media is odd, and so is ~/x" in html


def test_what_is_there_is_never_replaced(place, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match=r"out: exists, and is not replaced"):
        write_bundle(place, tmp_path / "out")
    assert (tmp_path / "out" / "mine.txt").read_text() == "mine"
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"exists"):
        write_bundle(place, tmp_path / "link")


def test_a_place_that_cannot_be_written_to(place, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"cannot be written"):
        write_bundle(place, tmp_path / "file" / "out")


def test_what_breaks_off_leaves_nothing(place, tmp_path, monkeypatch):
    def broken(*_: object) -> str:
        raise RuntimeError("broken")

    monkeypatch.setattr("viewer.bundle.patterns.html", broken)
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
    import pyarrow.parquet as pq

    rewards = folder / "run" / "rewards.parquet"
    pq.write_table(changed(pq.read_table(rewards)), rewards)
    for path in (folder / "run" / "patterns").glob("*.json"):
        path.write_text(
            path.read_text().replace('"user"', '"Marguerite Duval"').replace('"text": "', '"text": "Marguerite ')
        )
    return RunPlace(folder / "run", folder / "corpus")


def test_people_have_other_names_on_request_and_everything_is_escaped(place, tmp_path):
    shown = named(place, tmp_path)
    write_bundle(shown, tmp_path / "plain")
    write_bundle(shown, tmp_path / "other", pseudonyms=True)
    plain, other = pages_of(tmp_path / "plain"), pages_of(tmp_path / "other")
    assert any("Marguerite" in html for html in plain.values())
    for html in other.values():
        assert not re.search("marguerite|duval|osgood|hildegard", html, re.IGNORECASE)
    for html in (*plain.values(), *other.values()):
        assert "<script>alert" not in html and "\u202e" not in html and not re.search(r'="\s*javascript:', html)
    assert any("&lt;script&gt;alert(1)&lt;/script&gt;" in html for html in other.values())


def test_addresses_of_a_bundle():
    links = replace(Links("session/s1"), bundled=True)
    assert links.session("s2", 4, method="rrd") == "../session/s2.html#turn-4"
    assert links.page("index", page=1) == "../index.html" and links.page("index", page=3) == "../index~~page-3.html"
    assert links.media("s2", 0) == "" and replace(links, recorded=True).media("s2", 0) == "../media/s2/0"
