"""Claim: what an agent of ours reads before the first act holds the facts that SOTOPIA's released agents read.

The 20 released episodes with raw messages have 40 opening views. Ours are made of the published profiles of the same
characters, in the relationship of their published pair, with the episode's scenario and goals (the scenarios of these
episodes are not among the 303 published ones), under the rule `released`. A fact is a field of a profile, the scenario,
the own goal, or the goal of the other. Each difference is a line; the last line counts.

    python benchmarks/opening_views.py ../shared/data
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)

from apportion.environments.sotopia.observation import in_words, part_of
from apportion.environments.sotopia.sources.published import Published, read_published
from apportion.environments.sotopia.tasks import FIELDS, Character, Relationship, Scenario, Task
from apportion.llm_client.prompts.data import data_json

EPISODES = Path("sotopia_rl", "old_example_episodes_with_scores.jsonl.gz")
PROFILES = Path("sotopia")
_GENDERS = {"man": "male", "woman": "female"}
"""Some profiles were rewritten after these episodes were played."""


@dataclass(frozen=True)
class Difference:
    """A fact that one of the two views of one agent holds, and the other does not."""

    episode: str
    agent: str
    about: str
    fact: str
    only: str
    value: str


def main() -> None:
    """Print every difference, then how many views were compared and how often what differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the folder with sotopia/ and sotopia_rl/")
    found, views = compared(parser.parse_args().data)
    for one in found:
        print(json.dumps(asdict(one), ensure_ascii=False))
    counted = Counter(f"only {one.only}: {one.about}, {one.fact}" for one in found)
    print(json.dumps({"views": views, "differences": len(found), **dict(sorted(counted.items()))}, indent=1))


def compared(data: Path) -> tuple[list[Difference], int]:
    """Every difference, and how many views were compared."""
    published = read_published(data / PROFILES)
    with gzip.open(data / EPISODES, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    found: list[Difference] = []
    views = 0
    for row in rows:
        task = _task(row, published)
        for sender, agent, text in row["raw_messages"][0]:
            if sender == "Environment":
                views += 1
                found += _differences(row["codename"], task, agent, text)
    return found, views


def _task(row: Mapping[str, Any], published: Published) -> Task:
    characters = tuple(published.characters[key] for key in row["agent_ids"])
    names = [one.name for one in characters]
    goals = tuple(row["social_goals"][name] for name in names)
    relationship = published.known.get(frozenset(names), Relationship.STRANGER)
    return Task(Scenario(row["codename"], row["scenario"], goals, relationship), characters)


def _differences(episode: str, task: Task, agent: str, theirs: str) -> Iterator[Difference]:
    seat = [one.name for one in task.characters].index(agent)
    for about, fact, value, in_theirs, in_ours in _facts(task, seat, theirs):
        if in_theirs != in_ours:
            yield Difference(episode, agent, about, fact, "theirs" if in_theirs else "ours", str(value))


def _facts(task: Task, seat: int, theirs: str) -> Iterator[tuple[str, str, object, bool, bool]]:
    """Whom a fact is about, its name, its value, and which of the two views holds it."""
    ours = in_words(part_of(task, seat, "released"), (), 20, ())
    plain = _plain(theirs)
    for fact, value in (("scenario", task.scenario.seen_by(seat)), ("goal", task.scenario.goal(seat))):
        yield "itself", fact, value, _plain(value) in plain, data_json(value) in ours
    hidden = task.scenario.goal(1 - seat)
    yield "the other", "goal", hidden, _plain(hidden) in plain, data_json(hidden) in ours
    for other, character in enumerate(task.characters):
        about, begins = ("itself", ("You are ",)) if other == seat else ("the other", ("the other", character.name))
        line = next(line for line in ours.splitlines() if line.startswith(begins))
        for field in FIELDS:
            value = getattr(character, field)
            if value not in ("", (), None):
                words = value if isinstance(value, tuple) else (value,)
                yield about, field, value, _told(character, field, words, theirs), all(_json(w) in line for w in words)


def _told(character: Character, field: str, words: tuple[object, ...], theirs: str) -> bool:
    """Whether their view tells a field of a character."""
    told = _line(f"{character.name}'s background:", theirs)
    if field == "name":
        return _plain(character.name) in _line("Participants:", theirs)
    if field == "age":
        return f"{character.age}-year-old" in told
    if field == "gender":
        gender = _plain(character.gender)
        return re.search(rf"\b({gender}|{_GENDERS.get(gender, gender)})\b", told) is not None
    return all(_plain(str(word)) in told for word in words)


def _line(begins: str, text: str) -> str:
    return next(_plain(line.removeprefix(begins)) for line in text.splitlines() if line.startswith(begins))


def _json(word: object) -> str:
    """As it stands within our line, which is JSON."""
    return data_json(word).removeprefix('"').removesuffix('"')


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


if __name__ == "__main__":
    main()
