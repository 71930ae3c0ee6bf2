import signal
import socket
from random import Random

import pytest

from apportion.study.store.store import Store
from apportion.viewer.study.serve import ended, ways_in
from tests.viewer.study.asking import Caller
from tests.viewer.study.served import start_command, study_made

REASON = "I would talk to A again, since it listens and asks. The others do not."


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def one_answer(address, token, seed=1):
    caller = Caller(address)
    page = caller.get(f"a/{token}")
    for _ in range(3):
        page = caller.press(page) if page.path in ("/consent", "/instructions") else page
    form = page.forms
    return caller.post(page.path, [*form.hidden(), *form.answers(Random(seed), REASON)])


@pytest.mark.slow
@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_with_what_there_is_and_what_comes_next_and_goes_on_later(tmp_path, end):
    study = study_made(tmp_path / "study", items_per_annotator=2, checks_every=0)
    store = Store.open(None, study)
    (link,) = store.add_links(1)
    store.close()
    port = free_port()
    for count, place in ((1, "item/2"), (2, "item/3")):
        running = start_command(study.path, port)
        page = one_answer(f"http://127.0.0.1:{port}/", link.token)
        assert page.path == f"/{place}"
        running.send_signal(end)
        said, _ = running.communicate(timeout=30)
        assert running.returncode == 0
        assert f"ended with {count} answers saved; of 1 annotators who have begun, 0 have finished." in said
        assert f"next: apportion study report {study.path}" in said and "Traceback" not in said


@pytest.mark.slow
def test_behind_a_proxy_it_is_called_by_the_proxy_s_name(tmp_path):
    study = study_made(tmp_path / "study", public=True, items_per_annotator=2, checks_every=0)
    port = free_port()
    running = start_command(study.path, port, "--public-url", "https://study.example/here/", "--entries", "1")
    try:
        caller = Caller(f"http://127.0.0.1:{port}/")
        proxied = {"Host": "study.example", "Origin": "https://study.example"}
        page = caller.get("public", **proxied, X_Forwarded_For="192.0.2.7")
        assert page.status == 200
        form = page.forms.hidden()
        first = caller.post("public", form, follow=False, **proxied, X_Forwarded_For="192.0.2.7")
        assert first.status == 303 and "Secure" in first.headers["set-cookie"]
        statuses = []
        for address in ("192.0.2.7", "192.0.2.8"):
            form = Caller(caller.address).get("public", **proxied).forms.hidden()
            statuses.append(
                Caller(caller.address).post("public", form, follow=False, **proxied, X_Forwarded_For=address).status
            )
        assert statuses == [429, 303]  # Each of the proxy's visitors has a limit of their own.
        assert caller.get("public", Host="other.example").status == 421
    finally:
        running.terminate()
        running.communicate(timeout=30)


def test_a_database_that_is_away_at_the_end_is_said(tmp_path):
    store = Store.open(None, study_made(tmp_path / "study"))
    assert ended(store).startswith("ended with 0 answers saved; of 0 annotators")
    (tmp_path / "study" / "answers.sqlite").unlink()
    assert "taken away" in ended(store)
    store.close()


def test_the_ways_in_are_told(tmp_path):
    alone, public = study_made(tmp_path / "alone"), study_made(tmp_path / "public", public=True)
    links = f"links of their own (`apportion study links {alone.path} --address https://x.example`)"
    assert ways_in(alone, "https://x.example") == links
    assert ways_in(public, "https://x.example").startswith("https://x.example/public, or by links of their own")
