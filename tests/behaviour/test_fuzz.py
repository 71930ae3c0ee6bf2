"""Damaged corpora and configurations: no traceback, no command that hangs, no exit code but 0, 1 and 2.

Parts, so that several processes can share them; `python -m tests.fuzz` takes more cases and other seeds.
"""

import time

import pytest

from tests.fuzz import cases
from tests.fuzz.cases import Outcome, configurations, corpora
from tests.fuzz.seeds import seeds

CORPORA, CONFIGURATIONS, PART = 2_000, 500, 500
SEED = 0


def check(outcome: Outcome) -> None:
    assert outcome.cases == PART
    assert not outcome.faults, "\n".join(f"== {place}\n{text}" for place, text in outcome.faults.items())
    assert outcome.codes[0] and outcome.codes[2], outcome


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, CORPORA, PART))
def test_damaged_corpora(first):
    check(corpora(range(first, first + PART), SEED))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, CONFIGURATIONS, PART))
def test_damaged_configurations(first, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    check(configurations(range(first, first + PART), SEED))


@pytest.mark.slow
def test_every_source_is_good_before_it_is_damaged(monkeypatch):
    monkeypatch.setattr(cases, "damage", lambda files, chance: files)
    monkeypatch.setattr(cases, "write", _write)
    good = [seed for seed in seeds() if not seed.name.startswith("strangers")]
    monkeypatch.setattr(cases, "seeds", _each := _Each(good))
    outcome = corpora(range(len(good)), SEED)
    assert not outcome.faults and outcome.codes[2] == 0 and _each.asked == len(good), outcome


class _Each:
    """In place of `seeds`: one source after the other, whatever the chance."""

    def __init__(self, good) -> None:
        self.good, self.asked = good, 0

    def __call__(self):
        self.asked += 1
        return (self.good[self.asked - 1],)


def _write(files, folder, chance) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


@pytest.mark.parametrize("ends", ["a traceback", "a hang", "another exit code", "no word"])
def test_what_is_looked_for_is_found(monkeypatch, ends):
    def broken(arguments):
        if ends == "a traceback":
            raise TypeError("unhashable")
        if ends == "a hang":
            time.sleep(5)
        raise SystemExit(7 if ends == "another exit code" else 2)

    monkeypatch.setattr(cases, "warm", lambda: None)
    monkeypatch.setattr(cases, "main", broken)
    monkeypatch.setattr(cases, "MOST_WAITING", 0.05)
    outcome = corpora(range(1), SEED)
    (place,) = outcome.faults
    expected = {"a traceback": "TypeError", "a hang": "HungError", "another exit code": "exit code 7"}
    assert place.startswith(expected.get(ends, "exit code 2 without a word"))
