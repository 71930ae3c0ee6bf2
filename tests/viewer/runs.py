"""A small run for the viewer, made by the real code, and a server of it."""

import http.client
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import uvicorn

from apportion.corpus.corpus import Corpus
from apportion.pipeline.config import load_config
from apportion.pipeline.execution.local import run_locally
from apportion.pipeline.report.page import ReportInputs, render_report
from apportion.viewer.app import create_app
from apportion.viewer.auth import Access
from apportion.viewer.data.build import build
from apportion.viewer.data.index import index_path
from apportion.viewer.data.run import ServedRun, serve_run
from apportion.viewer.data.run_location import CompanionFiles, open_place
from apportion.viewer.serve import listening
from tests.behaviour.command import config, without_workers
from tests.behaviour.small import write_small_corpus

TEXT = 'corpus = "corpus"\noutput = "run"\n[decompose]\nmethod = "sentiment"\ncompare = ["uniform"]\n'


def write_viewed_run(folder: Path, sessions: int = 12) -> Path:
    """A run of text-only dialogues (folder ``run``, beside its ``corpus``) up to its rewards."""
    write_small_corpus(folder / "corpus", sessions=sessions)
    return run_on(folder)


def run_on(folder: Path) -> Path:
    """The run folder of ``folder/corpus``, up to its rewards."""
    with without_workers():
        run_locally(load_config(config(folder, TEXT)), ["rewards"], quiet=True)
    return folder / "run"


def write_report(run: Path, session: str | None = None) -> Path:
    """The report of a run that went no further than its rewards: ``report.html`` in its folder; of one session alone,
    where that is named."""
    corpus = Corpus.open(run.parent / "corpus")
    page = render_report(
        ReportInputs(
            "satisfaction",
            None,
            pq.read_table(run / "rewards.parquet"),
            [e for one in corpus.iter_sessions() if session in (None, one.session_id) for e in one.episodes()],
            pq.read_table(run / "splits.parquet"),
            "sentiment",
        )
    )
    (run / "report.html").write_text(page, encoding="utf-8")
    return run / "report.html"


def rename_sessions(corpus: Path, names: Sequence[str]) -> None:
    """Give the sessions of a corpus other ids, in their order."""
    opened = Corpus.open(corpus)
    ids = dict(zip(opened.session_ids(), names, strict=True))
    tables = {}
    for name, table in opened.tables.items():
        rows = [{**row, "session_id": ids[row["session_id"]]} for row in table.to_pylist()]
        tables[name] = pa.Table.from_pylist(rows, schema=table.schema)
    Corpus.of(corpus, tables).write(corpus)


@dataclass(frozen=True)
class Served:
    """A run that is served on this machine: ``address`` ends in a slash and has no token."""

    run: ServedRun
    access: Access
    address: str


@contextmanager
def served(
    folder: Path,
    corpus: Path | None = None,
    around: CompanionFiles | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> Iterator[Served]:
    """Serve the run in ``folder`` on a free port, as `apportion view` does."""
    with listening("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        place = open_place(folder, corpus)
        if not index_path(place).exists():  # here, where all is imported already: a process of its own takes a second
            build(place, index_path(place))
        run = serve_run(place)
        access = Access(frozenset({"127.0.0.1", "localhost"}), port)
        app = create_app(run, access, around, say)
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield Served(run, access, f"http://127.0.0.1:{port}/")
        server.should_exit = True
        thread.join()
        run.close()


HOSTILE_IDS = (
    "../../etc/passwd", '"><script>alert(1)</script>', "a/b?c=d#e&f=%2e%2e", "javascript:alert(1)", "\u202egnp.exe",
    "-rf ~", "x" * 400,
)  # fmt: skip
HOSTILE = '<script>window.bad = 1</script><img src=x onerror="window.bad = 1"> {{ 7 * 7 }} \u202eright to left'
"""What transcripts, names and rationales may hold."""


def write_hostile_run(folder: Path) -> Path:
    """A run whose session ids, speakers, words and rationales are `HOSTILE_IDS` and `HOSTILE`."""
    write_small_corpus(folder / "corpus", sessions=len(HOSTILE_IDS))
    rename_sessions(folder / "corpus", HOSTILE_IDS)
    names = {"bot": f"bot {HOSTILE}", "user": "user ' onclick=alert(1)"}
    corpus = Corpus.open(folder / "corpus")
    tables = {}
    for name, table in corpus.tables.items():
        rows = table.to_pylist()
        for row in rows:
            row |= {c: names[row[c]] for c in ("speaker", "rater", "target") if row.get(c)}
            if name == "utterances":
                row["text"] = f"{row['text']} {HOSTILE}"
        tables[name] = pa.Table.from_pylist(rows, schema=table.schema)
    Corpus.of(folder / "corpus", tables).write(folder / "corpus")
    run_on(folder)
    rewards = pq.read_table(folder / "run" / "rewards.parquet")
    place = rewards.schema.get_field_index("rationale")
    rewards = rewards.set_column(place, rewards.schema.field(place), pa.array([HOSTILE] * len(rewards)))
    pq.write_table(rewards, folder / "run" / "rewards.parquet")
    return folder / "run"


@dataclass(frozen=True)
class Answer:
    """What a server answered; the names of ``headers`` are in small letters."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()


def ask(server: Served, path: str = "", method: str = "GET", body: bytes | None = None, **headers: str) -> Answer:
    """One request with the cookie that lets in; ``headers`` go before (``Cookie=""`` leaves it out, ``_`` is a -)."""
    port = server.access.port
    given = {"Host": f"127.0.0.1:{port}", "Cookie": f"{server.access.cookie}={server.access.pass_}"}
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.putrequest(method, f"/{path}", skip_host=True, skip_accept_encoding=True)
        for name, value in given.items():
            if value:
                connection.putheader(name, value)
        if body is not None and "Content-Length" not in given and "Transfer-Encoding" not in given:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        response = connection.getresponse()
        found = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, found, response.read())
    finally:
        connection.close()
