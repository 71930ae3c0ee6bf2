"""How the rater reacted to every target turn: the reply as a vector, and its cues. Made once for all seeds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from apportion.corpus.files.stored_vectors import StoredVectors, VectorTable
from apportion.corpus.files.tablefile import Places, row_places
from apportion.corpus.languages.names import is_foreign, understands
from apportion.corpus.schema import EPISODE_KEY
from apportion.corpus.session import Episode, EpisodeKey, Session
from apportion.decompose.reactions.cues import CUES, cues
from apportion.decompose.settings import ReactionSettings
from apportion.foundation.arrays import Floats
from apportion.foundation.errors import UnitError
from apportion.reward_model.network.embed import embedding_matrix, rows_of


def behaviour(features: pa.Table | None, episodes: Sequence[Episode]) -> Floats:
    """The rater's features at each target turn, one column a (window, feature), sorted.

    - ``features`` (pa.Table, optional): UTTERANCE_FEATURES schema; None where nothing was recorded.

    Returns float64 [shape=(N, B)]: The means over the window; NaN where a feature was not measured. B is 0 without
    recordings.
    """
    if features is None or len(features) == 0:
        return np.zeros((sum(len(e.target_turns) for e in episodes), 0))
    turns = [(e.session_id, turn, e.rating.rater) for e in episodes for turn in e.target_turns]
    rows: dict[tuple[str, int, str], list[int]] = {}
    for row, turn in enumerate(turns):  # two ratings by one rater share their turns
        rows.setdefault(turn, []).append(row)
    keys = list(zip(*(features.column(name).to_pylist() for name in ("session_id", "turn", "person")), strict=True))
    kinds = list(zip(*(features.column(name).to_pylist() for name in ("window", "feature")), strict=True))
    places = {kind: place for place, kind in enumerate(sorted(set(kinds)))}
    means = np.full((len(turns), len(places)), np.nan)
    for key, kind, mean in zip(keys, kinds, features.column("mean").to_pylist(), strict=True):
        if mean is not None and key in rows:
            means[rows[key], places[kind]] = mean
    return means


@dataclass(frozen=True, eq=False)
class Reactions:
    """The reactions to N target turns of S episodes, one episode after the other.

    - ``episodes`` (tuple of Episode, length S): In the order of their keys.
    - ``cues`` (float64 [shape=(N, C)])
    - ``embeddings`` (float32, or float64 where they were computed on [shape=(N, d)]): These and the cues may stay in a
      file.
    - ``replied`` (bool [shape=(N,)]): Whether the rater said anything afterwards.
    - ``behaviour`` (float64 [shape=(N, B)]): What the rater did meanwhile (`apportion.decompose.reactions.extract`);
      NaN where unmeasured, B = 0 without recordings.
    """

    episodes: tuple[Episode, ...]
    cues: Floats | StoredVectors
    embeddings: NDArray[np.floating[Any]] | StoredVectors
    replied: NDArray[np.bool_]
    behaviour: Floats

    @property
    def width(self) -> int:
        """How many numbers a reaction has: d + C + B."""
        return sum(of.shape[1] for of in (self.embeddings, self.cues, self.behaviour))

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """Where each episode's turns begin, and the last one's end [shape=(S + 1,)]."""
        return np.cumsum([0, *(len(episode.target_turns) for episode in self.episodes)], dtype=np.int64)

    def understood_by(self, languages: frozenset[str] | None) -> NDArray[np.bool_]:
        """Whether each turn is in a session that who understands ``languages`` (None: all) understands [shape=(N,)]."""
        of_episode = [understands(languages, episode.language) for episode in self.episodes]
        return np.repeat(np.array(of_episode, np.bool_), np.diff(self.offsets))

    def by_episode(self, values: NDArray[Any]) -> dict[EpisodeKey, NDArray[Any]]:
        """Values of all N turns, by episode."""
        parts = np.split(values, self.offsets[1:-1])
        return {episode.key: part for episode, part in zip(self.episodes, parts, strict=False)}


def read_session(
    session: Session,
    rating_name: str | None,
    settings: ReactionSettings,
    utterances: NDArray[np.float32] | None = None,
) -> pa.Table:
    """The reactions in one session, for every episode and target turn.

    A reply of several utterances has the mean of their embeddings; zeros stand where nobody replied. With
    ``settings.replies`` of two the embedding of the reply after the next one stands beside the next one's, and with
    ``settings.inputs`` = ``both`` those of the replies in the light of what they answer beside those by themselves.

    - ``utterances`` (float32 [shape=(T, d)], optional): The embedding of every turn by itself, where it is there.

    Returns pa.Table: EPISODE_KEY, ``turn``, ``cues`` (C float64), ``embedding`` (d float32), ``replied``.

    Raises InputError: The backbone cannot be loaded.
    """
    from apportion.reward_model.network.backbones import frozen_backbone
    from apportion.reward_model.network.texts import embed_replies, embed_texts

    episodes = [episode for episode in session.episodes(rating_name) if episode.target_turns]
    texts = [_line(turn.text) for turn in session.turns]
    listening = [any(episode.is_listener(turn.speaker) for episode in episodes) for turn in session.turns]
    spoken = [text if read else "" for text, read in zip(texts, listening, strict=True)]
    backbone = partial(frozen_backbone, settings.backbone, settings.max_tokens)
    vectors = embed_texts(backbone(), spoken) if utterances is None else utterances
    answered = [
        (episode, at, _replies(episode, at, texts, settings.replies))
        for episode in episodes
        for at in episode.target_positions
    ]
    size = (len(answered), settings.replies * vectors.shape[1])
    alone = np.array([_joined(replies, vectors) for _, _, replies in answered], np.float32).reshape(size)
    blocks = [alone] if settings.inputs != "exchange" else []
    if settings.inputs != "reply":
        exchanges = [reply.exchange(texts) for _, _, replies in answered for reply in replies]
        blocks.append(embed_replies(backbone(), exchanges).reshape(size))
    embeddings = np.concatenate(blocks, axis=1)
    rows = [
        _Row.of(episode, at, texts, vectors, alone[row], embeddings[row])
        for row, (episode, at, _) in enumerate(answered)
    ]
    return _table(rows, embeddings.shape[1])


class _Reply(NamedTuple):
    """One reply of the rater: the position of what it answers, and those of its utterances; none where it is silent."""

    answers: int
    said: tuple[int, ...]

    def exchange(self, texts: Sequence[str]) -> tuple[str, str]:
        """What it answers, and the reply as one text; two empty texts for silence."""
        if not self.said:
            return "", ""
        return texts[self.answers], " ".join(texts[i] for i in self.said)


def _replies(episode: Episode, position: int, texts: Sequence[str], count: int) -> list[_Reply]:
    """The next ``count`` replies after a target turn; silence where there are none."""
    found: list[_Reply] = []
    at = position
    for _ in range(count):
        positions = episode.reply_positions(at)
        answers = position if not found else (positions[0] - 1 if positions else at)
        found.append(_Reply(answers, tuple(i for i in positions if texts[i])))
        at = positions[-1] if positions else len(texts)
    return found


def _joined(replies: Sequence[_Reply], vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """The mean embedding of each reply's utterances, side by side; zeros for silence."""
    silence = np.zeros(vectors.shape[1], np.float32)
    return np.concatenate([vectors[list(one.said)].mean(axis=0) if one.said else silence for one in replies])


@dataclass(frozen=True, eq=False)
class _Row:
    key: EpisodeKey
    turn: int
    cues: list[float]
    embedding: NDArray[np.float32]
    replied: bool

    @classmethod
    def of(
        cls,
        episode: Episode,
        position: int,
        texts: Sequence[str],
        vectors: NDArray[np.float32],
        alone: NDArray[np.float32],
        embedding: NDArray[np.float32],
    ) -> _Row:
        replies = [i for i in episode.reply_positions(position) if texts[i]]
        before = [i for i in range(position) if episode.is_listener(episode.turns[i].speaker) and texts[i]]
        next_reply = alone[: vectors.shape[1]]
        asked = float(np.max(_cosines(vectors[before], next_reply), initial=0.0)) if replies else 0.0
        english = not is_foreign(episode.language)
        numbers = cues([texts[i] for i in replies], texts[position], [texts[i] for i in before], asked, english)
        return cls(episode.key, episode.turns[position].turn, numbers, embedding, bool(replies))


def arrange(table: pa.Table | VectorTable, episodes: Iterable[Episode], features: pa.Table | None = None) -> Reactions:
    """The rows of ``table`` (`read_session`) as arrays, with the rater's ``features`` (UTTERANCE_FEATURES).

    An episode that the table does not hold at all is left out.

    Raises UnitError: The table holds some turns of an episode and lacks others.
    """
    places = row_places(table)
    held_episodes = tuple(sorted((e for e in episodes if e.key in places and e.target_turns), key=lambda e: e.key))
    rows = [_place(places, episode, turn) for episode in held_episodes for turn in episode.target_turns]
    cues, embeddings = (_vectors(table, name, rows) for name in ("cues", "embedding"))
    replied = rows_of(table.column("replied").to_numpy().astype(np.bool_), rows)
    return Reactions(held_episodes, cues, embeddings, replied, behaviour(features, held_episodes))


def _vectors(table: pa.Table | VectorTable, name: str, rows: Sequence[int]) -> Any:
    if isinstance(table, VectorTable):
        return table.vectors[name].taken(np.asarray(rows, dtype=np.int64))
    return rows_of(embedding_matrix(table, name), rows)


def _place(places: Places, episode: Episode, turn: int) -> int:
    if turn not in places[episode.key]:
        raise UnitError(
            f"session {episode.session_id}, turn {turn}: no reaction was read, and other turns of "
            f"{episode.rating.target} have one. Remove the run's output folder and start again."
        )
    return places[episode.key][turn]


def _table(rows: Sequence[_Row], width: int) -> pa.Table:
    columns = {name: pa.array([row.key[i] for row in rows], pa.string()) for i, name in enumerate(EPISODE_KEY)}
    embeddings = np.concatenate([np.zeros(0, np.float32), *(row.embedding for row in rows)])
    numbers = pa.array([number for row in rows for number in row.cues], pa.float64())
    return pa.table(
        {
            **columns,
            "turn": pa.array([row.turn for row in rows], pa.int32()),
            "cues": pa.FixedSizeListArray.from_arrays(numbers, len(CUES)),
            "embedding": pa.FixedSizeListArray.from_arrays(pa.array(embeddings, pa.float32()), width),
            "replied": pa.array([row.replied for row in rows], pa.bool_()),
        }
    )


def _cosines(vectors: NDArray[np.float32], vector: NDArray[np.float32]) -> Floats:
    lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(vector)
    cosines: Floats = (vectors @ vector / np.where(lengths > 0, lengths, 1.0)).astype(np.float64)
    return cosines


def _line(text: str) -> str:
    return " ".join(text.split())
