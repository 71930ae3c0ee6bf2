"""Items of a corpus: whole dialogues, of which turns are rated, or how somebody spoke in all of one."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from apportion.corpus.corpus import Corpus
from apportion.corpus.session import Episode
from apportion.corpus.targets import answered_episodes, credited
from apportion.environments.episode_log import LOG, read_log
from apportion.foundation.errors import InputError
from apportion.foundation.truncate import counted
from apportion.rlhf.compare.responses import context_text
from apportion.rlhf.policy.contexts import ContextTurn, known_messages, of_targets, spoken
from apportion.study.design.criteria import CriterionSet
from apportion.study.design.items import AGENT, Item, MadeItems, Response, drawn_order, names_in, response_id
from apportion.study.design.unblinding_key import KeyRow


def items_of_dialogues(
    corpus: Corpus, criteria: CriterionSet, seed: int, targets: Sequence[str] = (), most: int | None = None
) -> MadeItems:
    """An item a session and speaker who is judged in it: all turns, one message each, and what that speaker knew.

    Who is judged is whom ratings credit, or ``targets``. A policy's name is that of the agent which played the speaker
    where the corpus has a log of its games, else the speaker's. Where something is asked about the dialogue, an item
    has one response, without words, which stands for the speaker.

    Parameters
    ----------
    corpus : Corpus
        The dialogues.
    criteria : CriterionSet
        What will be asked: of turns, or about the dialogue.
    seed : int
        Of the study.
    targets : sequence of str
        Speakers by name, or ``first`` and ``second``.
    most : int, optional
        How many items are taken at most, drawn; all by default.

    Raises
    ------
    InputError
        Criteria that need responses to choose from; nobody is judged, or not whom ``targets`` name.
    """
    if other := [one.name for one in criteria.criteria if one.kind != "turns" and one.about != "dialogue"]:
        raise InputError(
            f"{corpus.root}: {other[0]!r} is asked of several responses to a context, and a corpus has one. Let "
            "policies answer it (`apportion policy generate`), and make the study of their responses."
        )
    episodes = _episodes(corpus, targets)
    if most is not None and most < len(episodes):
        places = sorted(episodes, key=lambda place: hashlib.sha256(f"{seed}\0{place}".encode()).digest())[:most]
        episodes = {place: episodes[place] for place in sorted(places)}
    agents = _agents(corpus.root)
    items: list[Item] = []
    key: list[KeyRow] = []
    for (session, target), episode in drawn_order(episodes.items(), seed, lambda one: one[0]):
        name = f"i{len(items) + 1:04d}"
        policy = agents.get(session, {}).get(target, target)
        own = response_id(seed, name, policy)
        responses = () if criteria.asks_turns_alone else (Response(own, ""),)
        items.append(_item(name, episode, responses))
        key += [KeyRow(name, response.id, policy, 0) for response in responses]
    return MadeItems(tuple(items), tuple(key), _notes(items, key))


def _episodes(corpus: Corpus, targets: Sequence[str]) -> dict[tuple[str, str], Episode]:
    """By session and speaker, whoever is judged there and says something."""
    sessions = list(corpus.iter_sessions())
    found = of_targets(answered_episodes(sessions, credited(sessions), targets=targets), targets)
    by_place = {
        (episode.session_id, episode.rating.target): episode
        for episode in found
        if any(turn.speaker == episode.rating.target for turn in spoken(episode.turns))
    }
    if not by_place:
        raise InputError(
            f"{corpus.root}: nobody is rated in it, so that it does not say whose turns are judged. Name a speaker, or "
            "say first or second: that of who speaks first, or next."
        )
    return dict(sorted(by_place.items()))


def _item(name: str, episode: Episode, responses: tuple[Response, ...]) -> Item:
    turns, target = spoken(episode.turns), episode.rating.target
    several = episode.is_multiparty
    said = [
        ContextTurn(AGENT, turn.text)
        if turn.speaker == target
        else ContextTurn("user", turn.text, turn.speaker if several else "")
        for turn in turns
    ]
    known = known_messages(episode)
    last = max(turn.turn for turn in turns if turn.speaker == target)
    numbers = (*(None for _ in known), *(turn.turn for turn in turns))
    return Item(name, episode.session_id, last, context_text([*known, *said]), responses, numbers)


def _agents(folder: Path) -> Mapping[str, Mapping[str, str]]:
    """By session and seat, which agent played there; nothing where there is no log."""
    path = folder / LOG
    if not path.is_file():
        return {}
    return {name: dict(logged.opening.get("agents", ())) for name, logged in read_log(path).items()}


def _notes(items: Sequence[Item], key: Sequence[KeyRow]) -> tuple[str, ...]:
    policies = list(dict.fromkeys(row.policy for row in key))
    in_ids = [item.item for item in items if any(policy in item.session_id for policy in policies)]
    told = f"the sessions' ids name policies in {counted(in_ids, 'item')}: pages do not show them, and items.jsonl does"
    return (*names_in(items, policies), *((told,) if in_ids else ()))
