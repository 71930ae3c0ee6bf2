"""Published episodes of SOTOPIA: social dialogues of two language models, scored by a third in seven dimensions.

JSON Lines of Sotopia-RL's archive: ``scenario``, ``agents_background``, ``social_goals``, ``social_interactions``,
``rewards``, and in the older files ``raw_messages``, which hold every act.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apportion.corpus import account
from apportion.corpus.builder import CorpusBuild, CorpusRows, SkippedSession
from apportion.corpus.files.jsontext import identifier, number, shown
from apportion.corpus.importers.reading.json_items import SHAPE_ERRORS, json_items, not_in_shape
from apportion.corpus.importers.reading.sources import check_options, numbered, source_files, stem
from apportion.corpus.session import ENVIRONMENT
from apportion.corpus.sotopia_eval import OVERALL, OVERALL_RANGE, RANGES, RELEASED_NAMES
from apportion.corpus.sotopia_markup import seat_viewer, shown_to
from apportion.foundation.errors import UnitError

LICENCE = "licence: treat SOTOPIA's data as CC BY-SA 4.0, Sotopia-RL's as Apache-2.0; simulated, no person spoke"
ADDRESSED = "Environment"
"""Whom agents send their acts to, in raw messages."""
NEAR = 1e-9
"""How far an overall score may lie from the mean of the seven."""
_AS_ANOTHER_ACT = re.compile(r"\[(?:speak|non-verbal communication|physical action|none|leave)\]", re.IGNORECASE)
"""How other acts begin: speech that does so, too, must not pose as one."""
KIND = "say which kind of act it is"
MARKS = "names, said: and quotation marks before and after acts"
_SILENT = "did nothing"
_UNSAID = {_SILENT: "[none] did nothing", "left the conversation": "[leave] left the conversation"}


@dataclass(frozen=True)
class _Released:
    """One episode as the file has it: acts as (speaker, words as the released code renders them)."""

    scenario: str
    backgrounds: Mapping[str, str]
    goals: Mapping[str, str]
    acts: list[tuple[str, str]]
    scores: dict[str, dict[str, float]]
    judge: str
    agents: str


def import_corpus(src: Path, options: Mapping[str, str]) -> CorpusBuild:
    """Sessions rated by ``environment`` in seven dimensions and ``overall``, the judging model as annotator.

    ``src``: a file of episodes (JSON Lines, plain or gzip), or a folder of them. ``options``: none are known. Raises
    ``InputError``: nothing there can be read as episodes.
    """
    check_options("sotopia", options, ())
    rows, left_out = CorpusRows(), []
    ids: set[str] = set()
    for path in source_files(src, (".jsonl",)):
        items = json_items(path, "episodes", "social_interactions", "no episodes of SOTOPIA.")
        for position, item in enumerate(items):
            session_id, place = numbered(f"sotopia-{stem(path)}", position), f"{path.name}, {item.place}"
            try:
                with account.session("episodes", place):
                    episode = _released(item.value())
                    session_id = "sotopia-" + identifier(item.value().get("episode_id", session_id), "episode_id")
                    if session_id in ids:
                        raise UnitError(f"the episode_id {session_id!r} is there already. Give each one of its own.")
                    _session(rows, session_id, episode)
                ids.add(session_id)
            except UnitError as error:
                left_out.append(SkippedSession(session_id, f"{place}: {error}"))
    return CorpusBuild(rows.tables(), (LICENCE,), tuple(left_out), usual_language="en")


def _released(item: Mapping[str, Any]) -> _Released:
    try:
        backgrounds = {str(name): str(text) for name, text in item["agents_background"].items()}
        names = list(backgrounds)
        if len(names) < 2:
            raise UnitError(f"{len(names)} agents")
        models = item.get("experiment_model_name_pairs")
        return _Released(
            str(item["scenario"]),
            backgrounds,
            {name: shown_to(str(item["social_goals"][name]), seat_viewer(seat)) for seat, name in enumerate(names)},
            _raw_acts(item["raw_messages"], names) if "raw_messages" in item else _acts(item, names),
            {name: _scores(scores) for name, scores in zip(names, item["rewards"], strict=True)},
            models[0] if models else "not named",
            " and ".join(models[1:]) if models else "not named",
        )
    except SHAPE_ERRORS as error:
        raise not_in_shape("SOTOPIA", error) from None


def _scores(scores: Mapping[str, Any]) -> dict[str, float]:
    """The seven dimensions and their mean, which is checked."""
    account.current().read("scores", len(scores))
    others = len(scores.keys() - RELEASED_NAMES.keys() - {"overall_score"})
    account.current().left_out("scores", "in dimensions that SOTOPIA does not have", others)
    found = {ours: number(scores[theirs], theirs) for theirs, ours in RELEASED_NAMES.items()}
    overall = number(scores["overall_score"], "overall_score")
    mean = sum(found.values()) / len(found)
    if abs(overall - mean) > NEAR:
        raise UnitError(f"overall_score is {overall}, and the mean of the seven dimensions {mean}.")
    return {**found, OVERALL: overall}


def _raw_acts(messages: list[list[list[str]]], names: list[str]) -> list[tuple[str, str]]:
    """What agents sent to the environment; whose turn it is not sends "did nothing", which is dropped.

    Agents take turns: in step t it is the turn of agent t mod N, and only its act is one.
    """
    acts, read = [], account.current()
    for step, sent in enumerate(messages):
        for sender, receiver, words in sent:
            if not isinstance(words, str):
                raise UnitError(f"raw_messages: {shown(words)} is sent, and a text is needed")
            read.said("acts", [words])
            if receiver == ADDRESSED and sender == names[step % len(names)]:
                acts.append((sender, words))
                continue
            reason = "messages of agents whose turn it is not" if receiver == ADDRESSED else "messages to agents"
            read.left_out("acts", reason)
            read.left_out("words", reason, account.words_in([words]))
    return acts


def _acts(item: Mapping[str, Any], names: list[str]) -> list[tuple[str, str]]:
    """Acts from the text of all, which leaves out who did nothing: agents act by turns, so a gap is such an act.

    A paragraph that begins with a name and an act begins an act, others go on with the one before; empty ones at the
    end are acts of doing nothing, too.
    """
    begins = re.compile(
        rf"(?P<name>{'|'.join(re.escape(name) for name in names)}):? "
        r"(?P<act>said: |did nothing|left the conversation|\[non-verbal communication\] |\[action\] )"
    )
    acts: list[tuple[str, str]] = []
    read = account.current()
    paragraphs = str(item["social_interactions"]).split("\n\n")
    read.said("acts", [paragraph for paragraph in paragraphs if paragraph.strip()])
    silent_end = len(paragraphs) - len(str(item["social_interactions"]).rstrip("\n").split("\n\n"))
    for paragraph in paragraphs[: len(paragraphs) - silent_end]:
        begun = begins.match(paragraph)
        if begun is not None:
            acts += _silent(names, len(acts), begun["name"])
            read.left_out("words", MARKS, account.words_in([paragraph[: begun.start("act")]]))
            acts.append((begun["name"], paragraph[begun.start("act") :]))
        elif acts and paragraph.strip():
            acts[-1] = (acts[-1][0], f"{acts[-1][1]}\n\n{paragraph}")
            read.joined("acts", "are paragraphs that go on with an act")
        elif paragraph.strip():
            raise UnitError(f"social_interactions begins with {paragraph[:60]!r}, which is no act of {names}")
    for _ in range(silent_end):
        acts.append(_nothing(names[len(acts) % len(names)]))
    return acts


def _nothing(name: str) -> tuple[str, str]:
    """An act that the text leaves out."""
    account.current().joined("acts", "do nothing, which the text leaves out", -1)
    account.current().joined("words", "say that nothing is done", -account.words_in([_SILENT]))
    return name, _SILENT


def _silent(names: list[str], done: int, acting: str) -> list[tuple[str, str]]:
    """The acts of doing nothing between the last act and that of ``acting``, when agents act by turns."""
    missing: list[tuple[str, str]] = []
    while names[(done + len(missing)) % len(names)] != acting:
        missing.append(_nothing(names[(done + len(missing)) % len(names)]))
    return missing


def _session(rows: CorpusRows, session_id: str, episode: _Released) -> None:
    if not episode.acts:
        raise UnitError("nobody does anything.")
    source = f"simulated: sotopia, agents {episode.agents}, judge {episode.judge}"
    rows.session(session_id, source)
    for turn, (name, act) in enumerate(episode.acts):
        rows.utterance(session_id, turn, name, _words(act))
    public = shown_to(episode.scenario)
    rows.background(session_id, "scenario", public)
    speakers = {name for name, _ in episode.acts}
    for seat, name in enumerate(episode.backgrounds):
        if name not in speakers:
            lost = len(episode.scores[name])
            account.current().left_out("scores", "of agents of whom no act is told", lost, f"{session_id}: {name}")
            continue
        if (own := shown_to(episode.scenario, seat_viewer(seat))) != public:
            rows.background(session_id, "scenario", own, name)
        rows.background(session_id, "goal", episode.goals[name], name)
        rows.background(session_id, "profile", episode.backgrounds[name], name)
        for dimension, score in episode.scores[name].items():
            scale = RANGES.get(dimension, OVERALL_RANGE)
            rows.rating(session_id, (ENVIRONMENT, name), dimension, score, scale, annotator=episode.judge)


def _words(act: str) -> str:
    """The utterance that an act is: what was said without its quotation marks, every other act with its kind."""
    read = account.current()
    if act.strip() in _UNSAID:
        read.joined("words", KIND, -1)
        return _UNSAID[act.strip()]
    if act.startswith("said: "):
        quoted = act.removeprefix("said: ").strip()
        words = quoted.removeprefix('"').removesuffix('"')
        read.left_out("words", MARKS, 1 + account.words_in([quoted]) - account.words_in([words]))
        if _AS_ANOTHER_ACT.match(words):
            read.joined("words", KIND, -1)
            return f"[speak] {words}"
        return words
    read.joined("words", KIND, -1 if "[action]" in act else 0)
    return act.replace("[action]", "[physical action]", 1)
