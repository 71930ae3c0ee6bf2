import http.client
import os
import signal
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import pytest

from apportion.study.store.store import Store
from tests.postgres import cluster
from tests.study.studies import responses
from tests.viewer.study.asking import Caller, marks
from tests.viewer.study.served import start_command, study_made
from tests.viewer.study.test_serve import free_port

ANNOTATORS, KILLS = 30, 5
AWAY = (ConnectionError, http.client.HTTPException, TimeoutError, OSError)


class Person:
    """An annotator with a log of their own: what they marked, in the page's words, once the server confirmed it."""

    def __init__(self, address: str, token: str, number: int, confirmed: threading.Semaphore) -> None:
        self.caller, self.token, self.random = Caller(address), token, Random(number)
        self.log: dict[str, dict[str, list[str]]] = {}
        self.confirmed, self.retried = confirmed, 0

    def patiently(self, ask):
        """Ask until the server answers, as a person does who presses the button again."""
        until = time.monotonic() + 300
        while True:
            try:
                page = ask()
            except AWAY:
                self.retried += 1
                assert time.monotonic() < until
                time.sleep(0.1)
                continue
            assert page.status in (200, 303), page.text
            return page

    def take_part(self) -> str:
        """From the link to the code, which is returned."""
        page = self.patiently(lambda: self.caller.get(f"a/{self.token}"))
        while page.path in ("/consent", "/instructions"):
            page = self.patiently(lambda page=page: self.caller.press(page))
        while page.path != "/thanks":
            page = self.answer(page)
        return page.text

    def answer(self, page):
        form = page.forms
        reason = f"Reason {self.random.random()} of at least forty characters, as it is asked for."
        pairs = [*form.hidden(), *form.answers(self.random, reason)]
        sent = self.patiently(lambda: self.caller.post(page.path, pairs, follow=False))
        assert sent.status == 303
        self.log[form.one("item")] = {
            name: values for name, values in marks(page, pairs).items() if name == "reason" or name.startswith("c-")
        }
        self.confirmed.release()
        if self.random.random() < 0.15:  # Pressed twice.
            assert self.patiently(lambda: self.caller.post(page.path, pairs, follow=False)).status == 303
        return self.patiently(lambda: self.caller.get(""))


def place_of(kind: str, folder: Path):
    if kind == "sqlite":
        yield str(folder / "elsewhere.sqlite")
        return
    with cluster() as server:
        yield server.database()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_no_confirmed_answer_is_lost_or_doubled(tmp_path, kind):
    for database in place_of(kind, tmp_path):
        study = study_made(
            tmp_path / "study", table=responses(contexts=24), items_per_annotator=8, checks_every=4,
            annotators_per_item=11,
        )  # fmt: skip
        store = Store.open(database, study)
        tokens = [link.token for link in store.add_links(ANNOTATORS)]
        port, confirmed = free_port(), threading.Semaphore(0)
        people = [Person(f"http://127.0.0.1:{port}/", token, n, confirmed) for n, token in enumerate(tokens)]
        running = start_command(study.path, port, "--database", database)
        try:
            with ThreadPoolExecutor(ANNOTATORS) as pool:
                ends = [pool.submit(person.take_part) for person in people]
                for _ in range(KILLS):
                    for _ in range(50):  # So many confirmed answers between two kills.
                        assert confirmed.acquire(timeout=240)
                    os.kill(running.pid, signal.SIGKILL)
                    running.wait()
                    running = start_command(study.path, port, "--database", database)
                codes = [end.result() for end in ends]
        finally:
            running.terminate()
            running.communicate(timeout=30)
        assert all(study.settings.completion in page for page in codes)
        assert sum(person.retried for person in people) >= KILLS
        rows = store.answers()
        given = Counter((row.annotator, row.item) for row in rows)
        assert set(given.values()) == {1} and len(rows) == sum(len(person.log) for person in people) == 30 * 11
        assert {row.revision for row in rows} == {1}
        names = [one.id for one in store.annotators()]
        for name, person in zip(names, people, strict=True):
            table = {row.item: in_words(study, row) for row in rows if row.annotator == name}
            assert table == person.log
        store.close()


def in_words(study, row):
    """A row of the table of answers as an annotator's own log has it."""
    texts = {response.id: response.text for response in study.items[row.item].responses}
    marked = {f"c-{name}": sorted(texts[one] for one in value) for name, value in row.answers.items()}
    return {**marked, "reason": [row.reason]}
