import http.client
import json
import sqlite3
from pathlib import Path
from random import Random
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner

from apportion import viewer
from apportion.commands.study.export import export_command
from apportion.commands.study.report import report_command
from apportion.corpus.builder import CorpusRows
from apportion.corpus.corpus import Corpus
from apportion.study.design.folder import CONSENT
from apportion.study.design.unblinding_key import KEY_FILE
from apportion.study.import_export.label_studio import interface_xml, tasks_json
from apportion.study.import_export.mturk import batch_csv, layout_html
from apportion.viewer.auth import MOST_BODY
from tests.study.studies import POLICIES
from tests.viewer.study.asking import Caller
from tests.viewer.study.served import study_served

REASON = "I would talk to A again, since it listens and asks. The others do not."


def every_page(running):
    """All that a browser is given on the way from the link to the code, faults and conflicts among it."""
    caller = running.caller()
    pages = [caller.get("nowhere"), Caller(running.address).get("a/none"), Caller(running.address).get("public")]
    pages += [caller.get("consent"), caller.press(caller.get("")), caller.press(caller.get(""))]
    page = caller.get("")
    for _ in running.store.places("a001"):
        form = page.forms
        pages.append(caller.post(page.path, [*form.hidden(), ("reason", "x")]))
        pages.append(caller.post(page.path, [*form.hidden(), *form.answers(Random(1), REASON)]))
        pages.append(caller.post(page.path, [*form.hidden(), *form.answers(Random(2), REASON)]))
        pages += [caller.get(page.path), caller.get("instructions")]
        page = caller.get("")
    return [*pages, page]


@pytest.mark.parametrize("criteria", ["geli", "savoir", "turns"])
def test_no_page_and_no_header_tells_a_policy_or_where_an_item_is_from(tmp_path, criteria):
    with study_served(tmp_path / "study", criteria, items_per_annotator=2, checks_every=2, base=None) as running:
        pages = every_page(running)
        assert len(pages) > 15 and {page.status for page in pages} >= {200, 404, 409}
        ids = [one.id for item in running.study.items.values() for one in item.responses]
        for page in pages:
            given = f"{page.url} {page.headers} {page.text}"
            assert not [name for name in (*POLICIES, "zz-", str(tmp_path), KEY_FILE) if name in given]
            assert not [name for name in ids if name in given]
        texts = [path.read_text() for path in (Path(viewer.__file__).parent / "static" / "study").iterdir()]
        assert texts and not [name for name in POLICIES for text in texts if name in text]


def test_a_study_changed_under_its_annotators_is_told_without_a_path_and_readers_drop_nothing(tmp_path, caplog):
    folder = tmp_path / "zz-base-policy-against-zz-tuned-policy"
    with study_served(folder, items_per_annotator=2, checks_every=0) as running:
        caller, late = running.begun("a001"), running.begun("a002")
        first, page = late.get("item/1"), caller.get("item/1")
        consent = (folder / CONSENT).read_text()
        (folder / CONSENT).write_text(f"{consent}\nA word more.\n")
        for command, more in ((report_command, ()), (export_command, (str(tmp_path / "answers.csv"),))):
            done = CliRunner().invoke(command, [str(folder), *more])
            assert "no answer" in str(done.exception)
        saved = caller.post("item/1", [*page.forms.hidden(), *page.forms.answers(Random(1), REASON)])
        assert saved.path == "/item/2" and len(running.store.answers()) == 1
        with sqlite3.connect(folder / "answers.sqlite") as other:  # As if it was served anew in its other form.
            other.execute("UPDATE study SET digest = 'another'")
        refused = late.post("item/1", [*first.forms.hidden(), *first.forms.answers(Random(1), REASON)])
        assert refused.status == 409 and "The study is being changed" in refused.text
        assert not [name for name in (*POLICIES, str(tmp_path), "sqlite") if name in refused.text]
        assert str(folder) in caplog.text  # Who serves it reads all of it.


def played(folder):
    """Dialogues of simulated agents, whose names are in the ids of their sessions."""
    rows, agents = CorpusRows(), POLICIES[:2]
    for number in range(8):
        name = f"{agents[number % 2]}-game-{number}"
        rows.session(name, "simulated")
        rows.rating(name, ("environment", "Alice"), "points", 6.0, (0.0, 10.0), higher_is_better=True)
        for turn, speaker in enumerate(("Alice", "Bob", "Alice")):
            rows.utterance(name, turn, speaker, f"Words {number} of turn {turn}.")
    Corpus.of(folder, rows.tables()).write(folder)
    begun = [
        {"episode": f"{agents[number % 2]}-game-{number}", "begin": {"agents": [["Alice", agents[number % 2]]]}}
        for number in range(8)
    ]
    (folder / "episodes.jsonl").write_text("".join(json.dumps(line) + "\n" for line in begun))
    return Corpus.open(folder)


@pytest.mark.parametrize("criteria", ["negotiation", "turns"])
def test_agents_whose_names_are_in_ids_of_sessions_are_nowhere_before_the_end(tmp_path, criteria):
    with study_served(
        tmp_path / "study", criteria, table=played(tmp_path / "games"), items_per_annotator=2, checks_every=0
    ) as running:
        given = [f"{page.url} {page.headers} {page.text}" for page in every_page(running)]
        given += [batch_csv(running.study), layout_html(running.study)]
        given += [tasks_json(running.study), interface_xml(running.study)]
        assert len(given) > 12 and "Words 3 of turn 0." in "".join(given)
        assert not [name for name in (*POLICIES, "zz-", "-game-") for text in given if name in text]


def test_the_key_is_not_needed_and_not_opened(tmp_path):
    """It may be on another machine while the study is served."""
    with study_served(tmp_path / "study", items_per_annotator=2, checks_every=2) as running:
        (running.study.path / KEY_FILE).unlink()
        assert every_page(running)[-1].path == "/thanks"


def test_what_serves_pages_cannot_import_the_key():
    """`study.design.unblinding_key` is imported where items are made; no file of the pages names its reader."""
    sources = {path.name: path.read_text() for path in (Path(viewer.__file__).parent / "study").rglob("*.py")}
    assert {"app.py", "serve.py", "views.py"} <= set(sources)
    assert not [name for name, text in sources.items() if "read_key" in text or "KEY_FILE" in text]


def asked(running, method, path, headers, body=None):
    parts = urlsplit(running.address)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=30)
    connection.putrequest(method, path, skip_host=True)
    for name, value in headers:
        connection.putheader(name, value)
    connection.endheaders(body)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer


def test_another_name_another_origin_and_no_origin_are_refused(study):
    caller = study.begun()
    host = urlsplit(study.address).netloc
    cookie = ("Cookie", "; ".join(f"{name}={value}" for name, value in caller.cookies.items()))
    assert asked(study, "GET", "/item/1", [("Host", "evil.example"), cookie]).status == 421
    strange = [("Host", host), ("Origin", "https://evil.example"), cookie]
    assert asked(study, "POST", "/item/1", strange).status == 403
    assert asked(study, "POST", "/item/1", [("Host", host), cookie]).status == 403
    large = [("Host", host), ("Origin", f"http://{host}"), ("Content-Length", str(MOST_BODY + 1)), cookie]
    assert asked(study, "POST", "/item/1", large).status == 413
    assert asked(study, "GET", "/item/1", [("Host", host), cookie]).status == 200


def test_a_form_has_to_be_a_form(study):
    caller = study.begun()
    page = caller.post("item/1", [], **{"Content-Type": "text/plain"})
    assert page.status == 415
    caller.cookies = {name: f"{value}x" for name, value in caller.cookies.items()}
    assert caller.get("item/1").status == 403


def test_a_body_that_hides_its_length(study):
    caller = study.begun()
    host = urlsplit(study.address).netloc
    connection = http.client.HTTPConnection(host, timeout=30)
    cookie = "; ".join(f"{name}={value}" for name, value in caller.cookies.items())
    chunks = (b"x" * 65_536 for _ in range(20))
    headers = {"Origin": f"http://{host}", "Cookie": cookie, "Content-Type": "application/x-www-form-urlencoded"}
    connection.request("POST", "/item/1", chunks, {**headers, "Transfer-Encoding": "chunked"}, encode_chunked=True)
    assert connection.getresponse().status == 413
    connection.close()


def test_headers_forbid_what_no_page_needs(study):
    page = study.begun().get("item/1")
    assert "style=" not in page.text and "onclick" not in page.text and "<script>" not in page.text
    assert page.headers["x-frame-options"] == "DENY" and page.headers["referrer-policy"] == "same-origin"
    assert page.headers["cache-control"] == "no-store"


def test_nothing_but_the_id_is_kept_of_a_person(tmp_path):
    """The database, byte by byte: no address, no browser, no token."""
    with study_served(tmp_path / "study", public=True, items_per_annotator=2, checks_every=0) as running:
        caller = Caller(running.address)
        page = caller.get("public?PROLIFIC_PID=person1&SESSION_ID=zz-session", User_Agent="zz-browser")
        page = caller.press(caller.press(page))
        form = page.forms
        caller.post(page.path, [*form.hidden(), *form.answers(Random(1), REASON)], User_Agent="zz-browser")
        held = b"".join(path.read_bytes() for path in running.study.path.glob("answers.sqlite*"))
        assert b"person1" in held and b"listens and asks" in held
        told = ["127.0.0.1", "zz-browser", "zz-session", *caller.cookies.values()]
        assert not [one for one in told if one.encode() in held]
