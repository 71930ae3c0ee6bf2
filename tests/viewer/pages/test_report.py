import base64
import hashlib
import re
import shutil

import pytest

from apportion.viewer.bundle import write_bundle
from apportion.viewer.data.index import slug_of
from apportion.viewer.data.run_location import open_place
from tests.viewer.runs import HOSTILE_IDS, ask, served, write_report


@pytest.fixture(scope="module")
def reported(viewed_run, tmp_path_factory):
    """A copy of the run with a report."""
    folder = tmp_path_factory.mktemp("reported")
    shutil.copytree(viewed_run.parent, folder / "all", ignore=shutil.ignore_patterns("store", "viewer"))
    write_report(folder / "all" / "run")
    with served(folder / "all" / "run") as running:
        yield running


def test_every_example_of_the_report_is_a_link(reported):
    answer = ask(reported, "report")
    links = re.findall('<a href="(session/[^"]+)">Open in the viewer</a>', answer.text)
    turns = [link for link in links if "#turn-" in link]
    assert answer.status == 200 and [link for link in links if link not in turns] == ["session/s02", "session/s10"], (
        "the ends of the scale; uniform orders none"
    )
    assert len(turns) == 4 and {ask(reported, link.partition("#")[0]).status for link in links} == {200}
    assert '<a href="./">All sessions' in answer.text and "apportion-viewer" not in answer.text
    assert "--session=" not in answer.text, "who has the viewer needs no command"
    assert '<a href="report">Report</a>' in ask(reported).text


def test_it_may_load_its_own_style_sheet_and_nothing_else(reported):
    answer = ask(reported, "report")
    style = re.search("<style>(.*?)</style>", answer.text, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = answer.headers["content-security-policy"]
    assert f"style-src 'sha256-{digest}'" in policy and policy.startswith("default-src 'none';")
    assert "unsafe" not in policy and "script-src" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_run_without_a_report_offers_none(server):
    answer = ask(server, "report")
    assert (
        answer.status == 404 and "This run has no report. Make one with `apportion run --only report`." in answer.text
    )
    assert ">Report</a>" not in ask(server).text


def test_a_report_that_is_none_or_of_an_older_version_is_shown_or_told(viewed_run, tmp_path):
    shutil.copytree(viewed_run.parent, tmp_path / "all", ignore=shutil.ignore_patterns("store", "viewer"))
    path = write_report(tmp_path / "all" / "run")
    with served(path.parent) as running:
        path.write_bytes(b"\xff\xfe no text")
        answer = ask(running, "report")
        assert answer.status == 503 and "the report cannot be read" in answer.text
        path.write_text("<p>As it was once.<!--apportion-viewer:zz--></p><script>alert(1)</script>")
        answer = ask(running, "report")
        assert answer.status == 200 and "As it was once." in answer.text
        assert "default-src 'none'" in answer.headers["content-security-policy"], "no script of it runs"


def test_hostile_ids_are_opened_by_a_command_that_a_shell_reads_as_one_word(hostile):
    run = hostile.run.place.folder
    texts = {name: write_report(run, name).read_text() for name in HOSTILE_IDS}
    for text in texts.values():
        assert "<script>" not in text and "\u202e" not in text
    assert "<code>apportion view RUN --session=../../etc/passwd</code>" in texts["../../etc/passwd"]
    assert "<code>apportion view RUN --session=&#39;-rf ~&#39;</code>" in texts["-rf ~"]
    assert sum("<code>apportion view RUN --session=" in text for text in texts.values()) == len(HOSTILE_IDS) - 2
    for name in HOSTILE_IDS:
        write_report(run, name)
        assert f'<a href="session/{slug_of(name)}">Open in the viewer</a>' in ask(hostile, "report").text


def test_a_bundle_has_it_with_links_to_its_files_and_one_with_other_names_has_not(reported, tmp_path):
    place = open_place(reported.run.place.folder)
    write_bundle(place, tmp_path / "out")
    text = (tmp_path / "out" / "report.html").read_text()
    assert '<a href="session/s02.html">Open in the viewer</a>' in text
    assert '<a href="report.html">Report</a>' in (tmp_path / "out" / "index.html").read_text()
    write_bundle(place, tmp_path / "other", pseudonyms=True)
    assert not (tmp_path / "other" / "report.html").exists()
    assert ">Report</a>" not in (tmp_path / "other" / "index.html").read_text()
