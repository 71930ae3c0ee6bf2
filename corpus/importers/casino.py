"""CaSiNo: two people in the part of campsite neighbours divide food, water and firewood (Chawla et al. 2021)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apportion.corpus import account
from apportion.corpus.builder import CorpusBuild, CorpusRows, SkippedSession
from apportion.corpus.casino_points import ANSWERS, ISSUES, MOST, PACKAGES, WALKED_AWAY, WORTH, points
from apportion.corpus.files.jsontext import identifier, number, shown
from apportion.corpus.importers.reading.json_items import SHAPE_ERRORS, json_items, not_in_shape, texts_in
from apportion.corpus.importers.reading.sources import check_options, numbered, source_files, stem
from apportion.corpus.session import ENVIRONMENT
from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.errors import InputError, UnitError

LICENCE = (
    "licence: CC BY 4.0 (Chawla et al. 2021, github.com/kushalchawla/CaSiNo); real people's words, and what they "
    "answered"
)
OPTIONS = {
    "buttons": "told (a deal that is submitted with what it divides; the default), named (as pressed) or none",
    "people": "yes: what the participants say of their age, gender, education and personality, as profiles",
}
SUBMIT, ACCEPT, REJECT, WALK = "Submit-Deal", "Accept-Deal", "Reject-Deal", "Walk-Away"
BUTTONS = (SUBMIT, ACCEPT, REJECT, WALK)
RULES = (
    f"Two neighbours at a campsite divide {PACKAGES} packages each of {', '.join(ISSUES)}. Each is told which of the "
    f"three is worth most to them ({WORTH['High']} points a package), less ({WORTH['Medium']}) and least "
    f"({WORTH['Low']}). Who walks away ends it with {WALKED_AWAY} points for each."
)
LIKERT = (1.0, 5.0)
COMPUTED = 2
"""So many scores the rules give each: points and advantage."""
SILENT = "by or of somebody who says nothing"
WORDS_OF_DEAL = 2 * (len(("I", "get")) + 2 * len(ISSUES))
"""By so many is "I get 1 Food, ...; you get ..." longer than its button."""
Entry = tuple[str, str, Mapping[str, Any]]
"""Who, what, and what a button carries."""


@dataclass(frozen=True)
class _Choice:
    buttons: str
    people: bool


def import_corpus(src: Path, options: Mapping[str, str]) -> CorpusBuild:
    """Sessions that both rate: their own points by the environment, satisfaction and likeness by the participant.

    Points are computed from the deal; a dialogue in which they are not those that the file has is left out.

    ``src``: ``casino.json``, a split of it (plain or gzip), or a folder of them. ``options``: those of `OPTIONS`.
    Raises ``InputError``: a file that cannot be read, or that holds no dialogues; an option that cannot be used.
    """
    choice = _choice(options)
    rows, left_out = CorpusRows(), []
    ids: set[str] = set()
    for path in source_files(src, (".json",)):
        dialogues = json_items(path, "dialogues", "chat_logs", "not CaSiNo. Use casino.json or a split of it.")
        for position, item in enumerate(dialogues, start=1):
            session_id, place = numbered(stem(path), position), f"{path.name}, {item.place}"
            try:
                with account.session("dialogues", place):
                    account.current().said("turns", texts_in(item.value().get("chat_logs"), "text"))
                    session_id = f"casino-{identifier(item.value().get('dialogue_id', session_id), 'dialogue_id')}"
                    if session_id in ids:
                        raise UnitError("this dialogue_id is there already. Give each one of its own.")
                    _session(rows, session_id, stem(path), item.value(), choice)
                ids.add(session_id)
            except UnitError as error:
                left_out.append(SkippedSession(session_id, f"{place}: {error}"))
    return CorpusBuild(rows.tables(), (LICENCE,), tuple(left_out), usual_language="en")


def _choice(options: Mapping[str, str]) -> _Choice:
    check_options("casino", options, OPTIONS)
    allowed = {"buttons": ("told", "named", "none"), "people": ("no", "yes")}
    for key, value in options.items():
        if value not in allowed[key]:
            hint = did_you_mean(value, allowed[key], f"allowed: {', '.join(allowed[key])}.")
            raise InputError(f"import casino: option {key}={value}: {hint}")
    return _Choice(options.get("buttons", "told"), options.get("people") == "yes")


def _session(rows: CorpusRows, session_id: str, part: str, dialogue: Mapping[str, Any], choice: _Choice) -> None:
    """Add one dialogue, all or nothing."""
    try:
        people = {str(name): info for name, info in dialogue["participant_info"].items()}
        if len(people) != 2:
            raise UnitError(f"participant_info has {len(people)} people, and the game is for two.")
        log = [_turn(entry, people) for entry in dialogue["chat_logs"]]
        values = {name: _values(info["value2issue"]) for name, info in people.items()}
        scored = _scored(log, values)
        for name, info in people.items():
            recorded = number(info["outcomes"]["points_scored"], "points_scored")
            if scored[name] != recorded:
                raise UnitError(f"{name} has {recorded:g} points in the file, and the deal gives {scored[name]}.")
        answers = {name: _answers(info["outcomes"]) for name, info in people.items()}
        backgrounds = [row for name, info in people.items() for row in _backgrounds(name, info, choice)]
        said = [(who, words) for who, text, deal in log if (words := _words(text, deal, choice)) is not None]
    except SHAPE_ERRORS as error:
        raise not_in_shape("CaSiNo", error) from None
    for _, text, _ in log:
        _count_button(text, choice)
    speakers = {who for who, _ in said}
    rows.session(session_id, f"casino/{part}")
    for turn, (who, words) in enumerate(said):
        rows.utterance(session_id, turn, who, words)
    rows.background(session_id, "rules", RULES)
    for name, kind, text in backgrounds:
        if name in speakers:
            rows.background(session_id, kind, text, name)
    _ratings(rows, session_id, scored, answers, speakers)


def _ratings(
    rows: CorpusRows,
    session_id: str,
    scored: Mapping[str, int],
    answers: Mapping[str, Mapping[str, int]],
    speakers: set[str],
) -> None:
    """What is known of those who said something."""
    account.current().read("scores", len(scored) * (COMPUTED + len(ANSWERS)))
    for name, other in zip(scored, reversed(list(scored)), strict=True):
        if name in speakers:
            rows.rating(session_id, (ENVIRONMENT, name), "points", scored[name], (0.0, MOST), annotator="rules")
            ahead = scored[name] - scored[other]
            rows.rating(session_id, (ENVIRONMENT, name), "advantage", ahead, (-MOST, MOST), annotator="rules")
        else:
            account.current().left_out("scores", SILENT, COMPUTED, session_id)
        if speakers >= {name, other}:
            for rating, answer in answers[name].items():
                rows.rating(session_id, (name, other), rating, answer, LIKERT)
        else:
            account.current().left_out("scores", SILENT, len(ANSWERS), session_id)


def _turn(entry: Mapping[str, Any], people: Mapping[str, Any]) -> Entry:
    who, text, deal = entry["id"], entry["text"], entry.get("task_data") or {}
    if who not in people:
        raise UnitError(f"{shown(who)} speaks and is none of {', '.join(people)}.")
    if not isinstance(text, str) or not text.strip():
        raise UnitError(f"text = {shown(text)}: a text is needed.")
    return who, text.strip(), deal


def _values(wanted: Mapping[str, str]) -> dict[str, int]:
    """By issue, what a package of it is worth to somebody."""
    values = {wanted[level]: worth for level, worth in WORTH.items()}
    if set(values) != set(ISSUES):
        raise UnitError(f"value2issue names {', '.join(map(str, values))}; it has to name {', '.join(ISSUES)}.")
    return values


def _scored(log: Sequence[Entry], values: Mapping[str, Mapping[str, int]]) -> dict[str, int]:
    """By participant, the points of how it ended: the deal submitted last and accepted, or somebody walking away."""
    pressed = [(who, text, deal) for who, text, deal in log if text in BUTTONS]
    ends = pressed[-1][1] if pressed else None
    if ends == WALK:
        return dict.fromkeys(values, WALKED_AWAY)
    if ends != ACCEPT or len(pressed) < 2 or pressed[-2][1] != SUBMIT or pressed[-2][0] == pressed[-1][0]:
        raise UnitError("nobody walks away, and no deal that the other submitted is accepted at the end.")
    submitter, _, deal = pressed[-2]
    shares = {name: _share(deal, "issue2youget" if name == submitter else "issue2theyget") for name in values}
    for issue in ISSUES:
        divided = [share[issue] for share in shares.values()]
        if sum(divided) != PACKAGES or min(divided) < 0:
            raise UnitError(f"the deal gives {divided[0]} and {divided[1]} of {PACKAGES} packages of {issue}.")
    return {name: points(values[name], shares[name]) for name in values}


def _share(deal: Mapping[str, Any], side: str) -> dict[str, int]:
    return {issue: int(number(deal[side][issue], f"{side}.{issue}", texts=True)) for issue in ISSUES}


def _words(text: str, deal: Mapping[str, Any], choice: _Choice) -> str | None:
    """The turn that an entry is; None: a button that is left out."""
    if text not in BUTTONS or choice.buttons == "named":
        return text
    if choice.buttons == "none":
        return None
    if text != SUBMIT:
        return f"[{text}]"
    mine, yours = (
        ", ".join(f"{many} {issue}" for issue, many in _share(deal, side).items())
        for side in ("issue2youget", "issue2theyget")
    )
    return f"[{SUBMIT}] I get {mine}; you get {yours}"


def _count_button(text: str, choice: _Choice) -> None:
    """Tell the account where the turn that is a button becomes none, or more words than it has."""
    if text in BUTTONS and choice.buttons == "none":
        account.current().left_out("turns", "buttons (option buttons)")
        account.current().left_out("words", "buttons (option buttons)")
    elif text == SUBMIT and choice.buttons == "told":
        account.current().joined("words", "say what a deal divides", -WORDS_OF_DEAL)


def _answers(outcomes: Mapping[str, Any]) -> dict[str, int]:
    given = {}
    for rating, allowed in ANSWERS.items():
        if outcomes[rating] not in allowed:
            raise UnitError(f"{rating} = {shown(outcomes[rating])}: allowed are {', '.join(allowed)}.")
        given[rating] = 1 + allowed.index(outcomes[rating])
    return given


def _backgrounds(name: str, info: Mapping[str, Any], choice: _Choice) -> list[tuple[str, str, str]]:
    """What the participant alone knows: what each issue is worth, with the reason; and who they say they are."""
    wanted = (
        f"{info['value2issue'][level]}: {worth} points a package. {str(info['value2reason'][level]).strip()}"
        for level, worth in WORTH.items()
    )
    told = [(name, "goal", "\n".join(wanted))]
    if choice.people:
        traits = {**info["personality"].get("big-five", {}), "social value orientation": info["personality"].get("svo")}
        facts = {**info["demographics"], **traits}
        told.append((name, "profile", "; ".join(f"{key}: {value}" for key, value in facts.items())))
    return told
