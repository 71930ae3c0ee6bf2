"""The account of `import chat`: of every kind of input, what its maker counted."""

import csv
import json
from collections import Counter
from dataclasses import dataclass, field
from random import Random

import pytest

from apportion.corpus import account
from apportion.corpus.importers import import_to
from apportion.corpus.importers.chat import _said, import_corpus
from apportion.corpus.importers.chats.tables import _Turns
from apportion.corpus.importers.chats.traces import _exchange
from tests.apportion.called import called

SCALE = {"low": "1", "high": "5"}
CHATS = "apportion.corpus.importers.chat"


@dataclass
class Maker:
    """Makes inputs at random, and counts what is in them and what of it is to be kept."""

    random: Random
    read: Counter = field(default_factory=Counter)
    kept: Counter = field(default_factory=Counter)
    made: int = 0

    def text(self, prefix=""):
        """A text that is nowhere else, and how many words it has."""
        self.made += 1
        many = self.random.randint(1, 4)
        return prefix + " ".join([f"w{self.made}", *["und"] * (many - 1)]), many

    def count(self, what, many=1, *, kept=True):
        self.read[what] += many
        self.kept[what] += many * kept

    def message(self, kept):
        """One in the shape of OpenAI's, of any kind."""
        text, many = self.text()
        kind = self.random.choice(["plain", "parts", "refusal", "calls", "system", "tool", "field", "thought", "blank"])
        is_turn = kind not in ("calls", "system", "tool")
        self.count("messages", kept=kept and is_turn)
        self.count("words", 0 if kind in ("calls", "blank") else many, kept=kept and is_turn)
        self.count("parts of messages", kind in ("parts", "refusal"), kept=kept)
        self.count("parts of messages", kind in ("parts", "calls", "field"), kept=False)
        self.count("words", 2 * (kind == "thought"), kept=False)
        return {
            "plain": {"role": "user", "content": text},
            "parts": {"role": "user", "content": [{"type": "image_url"}, {"type": "text", "text": text}]},
            "refusal": {"role": "assistant", "content": None, "refusal": text},
            "calls": {"role": "assistant", "content": "", "tool_calls": [{}]},
            "system": {"role": "system", "content": text},
            "tool": {"role": "tool", "content": text},
            "field": {"role": "assistant", "content": text, "reasoning_content": "not counted"},
            "thought": {"role": "assistant", "content": f"<think>I see.</think>\n{text}"},
            "blank": {"role": "user", "content": "  "},
        }[kind]

    def messages(self, kept):
        return [self.message(kept) for _ in range(self.random.randint(1, 6))]

    def score(self, kept, many=1):
        """A score or none; the first chat has one."""
        if self.read["scores"] and self.random.random() < 0.3:
            return None
        self.count("scores", many, kept=kept)
        return self.random.randint(1, 5)

    def fates(self, *faults):
        """For each chat, what is wrong with it; nothing with the first."""
        fates = ["", *self.random.choices(["", *faults], k=self.random.randint(0, 4))]
        for fate in fates:
            self.count("chats", kept=not fate)
        return fates

    def objects(self):
        lines = []
        for position, fate in enumerate(self.fates("no JSON", "role", "id")):
            if fate == "no JSON":
                lines.append("{no")
                continue
            chat = {"id": "0" if fate == "id" else f"{position}", "score": self.score(not fate)}
            if self.random.random() < 0.5:
                chat["messages"] = self.messages(not fate)
                chat["messages"] += [{"role": "boss", "content": "a b"}] if fate == "role" else []
            else:
                text, many = self.text()
                chat["conversations"] = [{"from": "boss" if fate == "role" else "human", "value": text}]
                self.count("messages", kept=not fate)
                self.count("words", many, kept=not fate)
            if fate == "role" and "messages" in chat:
                self.count("messages", kept=False)
                self.count("words", 2, kept=False)
            lines.append(json.dumps(chat))
        return {"log.jsonl": "\n".join(lines)}

    def turns(self):
        rows = []
        for position, fate in enumerate(self.fates("scores")):
            many = self.random.randint(2, 5)
            score = self.score(not fate, many)
            for turn in range(many):
                text, words = self.text()
                role = self.random.choice(["user", "assistant", "system"]) if turn else "user"
                rows.append([position, turn, role, text, score, "hours"])
                self.count("messages", kept=not fate and role != "system")
                self.count("words", words, kept=not fate and role != "system")
                self.count("rows", kept=not fate)
                self.count("cells", 5)
            if fate:  # Two scores that differ.
                self.count("scores", 2 * (score is None), kept=False)
                rows[-1][4], rows[-2][4] = 1, 2
            elif self.random.random() < 0.5:  # A join repeats a row.
                rows.append(rows[-1])
                self.count("rows", kept=False)
                self.count("cells", 5)
                self.count("scores", score is not None)
        self.count("cells", self.read["rows"], kept=False)  # The topic.
        return {"t.csv": [["session_id", "turn", "role", "text", "csat", "topic"], *rows]}

    def rows(self):
        rows = []
        for position, fate in enumerate(self.fates("no JSON")):
            cell = "[{" if fate else json.dumps(self.messages(True))
            rows.append([position, cell, self.score(not fate)])
            self.count("rows", kept=not fate)
            self.count("cells", 3)
        return {"t.csv": [["id", "messages", "csat"], *rows]}

    def calls(self):
        """Calls as (session, trace, asked, answered, is inner) and scores as (session, value), of one to three."""
        calls, scores = [], []
        for session in range(self.random.randint(1, 3)):
            self.count("chats")
            history, had = [{"role": "system", "content": "be kind"}], 2
            for _ in range(self.random.randint(1, 3)):
                (asked, many), (answered, more) = self.text(), self.text()
                history = [*history, {"role": "user", "content": asked}]
                self.read["messages"] += len(history) + 1
                had += many + more
                self.read["words"] += had
                self.kept["messages"] += 2
                self.kept["words"] += many + more
                self.count("records")
                calls.append((session, len(calls), history, answered, False))
                history = [*history, {"role": "assistant", "content": answered}]
                if self.random.random() < 0.5:
                    calls.append((session, calls[-1][1], [{"role": "user", "content": "Which kind?"}], "hours", True))
                    self.count("records", kept=False)
                    self.count("messages", 2, kept=False)
                    self.count("words", 3, kept=False)
            score = self.score(True)
            scores += [] if score is None else [(session, score)]
        if self.random.random() < 0.5:
            scores.append((99, 3))  # About nothing that is there.
            self.count("scores", kept=False)
        return calls, scores

    def langfuse(self):
        calls, scores = self.calls()
        found = [
            {"id": f"o{i}", "traceId": f"t{trace}", "sessionId": f"s{session}", "startTime": f"2026-05-01T10:00:{i:02}"}
            | {"input": asked, "output": answered, "type": "SPAN"}
            | ({"parentObservationId": f"o{i - 1}"} if inner else {})
            for i, (session, trace, asked, answered, inner) in enumerate(calls)
        ]
        found += [{"id": "r", "name": "csat", "value": value, "sessionId": f"s{s}"} for s, value in scores]
        self.count("records", len(scores))
        return {"log.jsonl": "\n".join(map(json.dumps, found))}

    def langsmith(self):
        calls, scores = self.calls()
        found = []
        first = {}
        for i, (session, _, asked, answered, inner) in enumerate(calls):
            run = {"id": f"r{i}", "run_type": "chain", "start_time": f"2026-05-01T10:00:{i:02}"}
            run |= {"extra": {"metadata": {"thread_id": f"s{session}"}}}
            run |= {"inputs": {"messages": asked}, "outputs": {"output": answered}}
            if inner:
                found[-1]["child_runs"] = [run]
            else:
                found.append(run | {"trace_id": f"r{i}"})
                first.setdefault(session, f"r{i}")
        found += [{"run_id": first.get(s, "gone"), "key": "csat", "score": value} for s, value in scores]
        self.count("records", len(scores))
        return {"log.jsonl": "\n".join(map(json.dumps, found))}

    def opentelemetry(self):
        calls, scores = self.calls()
        spans = []
        first = {}
        for i, (session, trace, asked, answered, inner) in enumerate(calls):
            values = {"gen_ai.conversation.id": f"s{session}", "gen_ai.input.messages": asked}
            values |= {
                "gen_ai.output.messages": [{"role": "assistant", "parts": [{"type": "text", "content": answered}]}]
            }
            spans.append({"traceId": f"t{trace}", "spanId": f"a{i}", "startTimeUnixNano": f"{i}", "attributes": values})
            spans[-1] |= {"parentSpanId": f"a{i - 1}"} if inner else {}
            first.setdefault(session, spans[-1])
            self.count("parts of messages", kept=not inner)
        for session, value in scores:
            values = {"gen_ai.evaluation.name": "csat", "gen_ai.evaluation.score.value": value}
            event = {"name": "gen_ai.evaluation.result", "attributes": values}
            if session in first:
                first[session].setdefault("events", []).append(event)
            else:
                spans.append({"traceId": "gone", **event})
                self.count("records")
        return {"log.jsonl": json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]})}


def write(folder, found):
    ((name, content),) = found.items()
    with (folder / name).open("w", encoding="utf-8", newline="") as file:
        file.write(content) if isinstance(content, str) else csv.writer(file).writerows(content)
    return folder / name


@pytest.mark.parametrize("kind", ["objects", "turns", "rows", "langfuse", "langsmith", "opentelemetry"])
@pytest.mark.parametrize("seed", range(3))
def test_the_account_is_what_the_maker_counted(tmp_path, kind, seed):
    random = Random(f"{kind} {seed}")
    for _ in range(12):
        maker = Maker(random)
        path = write(tmp_path, getattr(maker, kind)())
        with account.opened() as book:
            made = import_corpus(path, SCALE)
        lines = {line.what: (line.read, line.kept) for line in book.settled(made)}
        assert lines == {what: (many, maker.kept[what]) for what, many in maker.read.items() if many}, path.read_text()
    report = import_to("chat", path, tmp_path / "corpus", SCALE)
    assert {line.what: (line.read, line.kept) for line in report.account} == lines
    assert sorted(account.account_of(report.out), key=str) == sorted(report.account, key=str)


IN_ORDER = _Turns._in_order
LOSES_ONE = [
    ("objects", f"{CHATS}._said", lambda *given: _said(*given)[:-1]),
    ("turns", f"{CHATS}s.tables._Turns._in_order", lambda *given: IN_ORDER(*given)[:-1]),
    ("langfuse", f"{CHATS}s.traces._exchange", lambda *given: _exchange(*given)[:-1]),
]


@pytest.mark.parametrize(("kind", "place", "lossy"), LOSES_ONE)
def test_an_importer_that_loses_a_message_in_silence_writes_nothing(tmp_path, monkeypatch, capsys, kind, place, lossy):
    path = write(tmp_path, getattr(Maker(Random(0)), kind)())
    monkeypatch.setattr(place, lossy)
    assert called("import", "chat", path, tmp_path / "corpus", "-o", "low=1", "-o", "high=5") == 1
    assert "the account does not add up" in capsys.readouterr().err and not (tmp_path / "corpus").exists()
