import html.parser

import pytest

from apportion.viewer.data.index import slug_of
from tests.viewer.runs import HOSTILE_IDS, ask

URLS = {"href", "src", "action"}


class Tags(html.parser.HTMLParser):
    """The tags of a page and the addresses in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.addresses += [value for name, value in attrs if name in URLS and value]


@pytest.mark.parametrize("path", ["", "?q=script&sort=-lowest", "?q=%3Cscript%3E&method=%22%3E&split='&sort=%3C"])
def test_hostile_strings_are_only_strings_in_the_list(hostile, path):
    page = Tags(ask(hostile, path).text)
    assert "img" not in page.tags and page.tags.count("script") == 3
    assert not [address for address in page.addresses if ":" in address.partition("?")[0]]


@pytest.mark.parametrize("name", HOSTILE_IDS)
def test_every_session_has_a_page_whatever_its_id(hostile, name):
    answer = ask(hostile, f"session/{slug_of(name)}")
    page = Tags(answer.text)
    assert answer.status == 200 and "img" not in page.tags and "\u202e" not in answer.text
    assert "&lt;script&gt;window.bad = 1" in answer.text and "{{ 7 * 7 }}" in answer.text


@pytest.mark.parametrize(
    "path",
    ["session/none", "session/..%2f..%2fetc%2fpasswd", "static/../app.py", "static/%2e%2e/app.py", "static/none.js"],
)
def test_what_is_not_there_is_said_in_the_viewer_s_frame(server, path):
    answer = ask(server, path)
    assert answer.status == 404
    assert "import" not in answer.text


@pytest.mark.parametrize("path", ["?page=0", "?page=x", f"?q={'a' * 600}", "?page=99999999999999999999"])
def test_an_impossible_question_is_refused(server, path):
    answer = ask(server, path)
    assert answer.status == 422 and "The address asks for what cannot be" in answer.text


@pytest.mark.parametrize(
    "path", ["?page=100000", "?sort=nothing", "?sort=-", "?method=none", "?split=none", "?only=none", "?q=-a"]
)
def test_an_unknown_choice_is_as_if_it_were_not_made_or_finds_nothing(server, path):
    answer = ask(server, path)
    assert answer.status == 200 and "Sessions" in answer.text


def test_what_a_page_loads_is_there(server):
    page = Tags(ask(server).text)
    files = [address for address in page.addresses if address.startswith("static/")]
    assert len(files) >= 5
    answers = [ask(server, path) for path in files]
    assert {answer.status for answer in answers} == {200}
    assert {answer.headers["cache-control"] for answer in answers} == {"private, max-age=31536000, immutable"}


@pytest.mark.parametrize("path", ["static/style.css", "static/style.css?another", "static/tokens.css"])
def test_a_file_of_another_state_is_not_kept(server, path):
    answer = ask(server, path)
    assert answer.status == 200 and answer.headers["cache-control"] == "no-store"


def test_a_fault_that_nobody_foresaw_is_said_in_the_viewer_s_frame(hostile, monkeypatch):
    monkeypatch.setattr("apportion.viewer.pages.sessions.list_view", lambda *_: 1 / 0)
    answer = ask(hostile)
    assert answer.status == 500 and "This page failed" in answer.text and "division" not in answer.text
    assert 'href="compare' in answer.text, "other pages go on"
    monkeypatch.undo()
    assert ask(hostile).status == 200
