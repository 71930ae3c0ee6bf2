"""Gold: two reward models from sessions that the run's own (the proxy) never learns from, of another kind than it.

Gao et al. (2023) tell a policy that gains from one that games its reward by a second, "gold" reward. Here the sessions
of the ``policy`` split that have a score are dealt into two halves; each teaches one model by another method and
through another encoder than the proxy's.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow as pa

from apportion.corpus.schema import SPLITS
from apportion.corpus.session import Episode, Session
from apportion.corpus.splits.splits import SplitEpisodes, rank
from apportion.decompose.corpus_methods.fit import train_directly
from apportion.decompose.corpus_methods.predicted_reaction import reaction_worth
from apportion.decompose.corpus_methods.trained_network import TrainingConfig, TrainingData
from apportion.decompose.reactions.extract import read_session
from apportion.decompose.reward_models import GOLD_VERSION
from apportion.foundation.files import digest, place_folder
from apportion.foundation.model_hub.names import model_digest, model_folder
from apportion.foundation.progress import silent
from apportion.reward_model.checkpoint import CONFIG, WEIGHTS
from apportion.reward_model.config import RewardModelConfig
from apportion.reward_model.learning.distillation import Lesson, train_reward_model
from apportion.reward_model.settings import MINILM, SMOLLM2, RewardModelSettings

REACTIONS, SCORES = "predicted-reaction", "ircr"
"""What gold learns by: the replies that came, or, where those taught the proxy, the scores of whole sessions."""
FEWEST = 40
"""Sessions of a half below which nothing is learned that a policy could be judged by."""
HELD_OUT = 5
"""One session of so many of a half stops its training."""


@dataclass(frozen=True)
class GoldLesson:
    """What gold learns from and by: ``sessions`` of the policy split, ``rating`` (None: any), ``method``, ``config``,
    whose ``model`` says what reads them."""

    sessions: Sequence[Session]
    rating: str | None
    method: str
    config: TrainingConfig

    @property
    def halves(self) -> tuple[list[Session], list[Session]]:
        """The sessions with a score, in the order of a hash of the seed and their ids, dealt out in turn."""
        scored = [session for session in self.sessions if _scored(session, self.rating)]
        seed = self.config.seed
        ranked = sorted(scored, key=lambda session: rank(f"gold\0{session.session_id}", seed))
        return ranked[::2], ranked[1::2]

    @property
    def lacking(self) -> str | None:
        """Why there is no gold; None where there is."""
        fewest = min(len(half) for half in self.halves)
        if fewest >= FEWEST:
            return None
        scored = sum(len(half) for half in self.halves)
        return (
            f"No gold reward tells whether the policy has gained: the policy split has {scored} sessions with a score, "
            f"and {2 * FEWEST} are needed (split.policy, or more sessions)"
        )

    @property
    def key(self) -> str:
        """The same for lessons that make the same two models."""
        config = self.config
        learns = [of.model_dump(mode="json") for of in (config.settings, config.model)]
        learnt = [asdict(session) for half in self.halves for session in half]
        read_by = model_digest(config.model.backbone)
        return digest([GOLD_VERSION, self.method, self.rating, config.seed, learns, read_by, learnt])

    def told(self) -> str:
        """What taught the two models, and how, for a reader."""
        what = "the replies that came" if self.method == REACTIONS else "the scores of whole sessions"
        a, b = (len(half) for half in self.halves)
        model = self.config.model
        return (
            f"gold A ({a} sessions) and gold B ({b} others), of the policy split, learned from {what} "
            f"({self.method}), read by {model.backbone} ({model.scoring})"
        )


def gold_reader(proxy: RewardModelSettings | RewardModelConfig | None, device: str = "cpu") -> RewardModelSettings:
    """What reads for gold: another encoder than ``proxy``'s, or MiniLM in another way where nothing else is here."""
    read_by, scoring = (None, None) if proxy is None else (proxy.backbone, proxy.scoring)
    values = {"backbone": MINILM, "device": device}
    if read_by in (None, MINILM) and model_folder(SMOLLM2).is_dir():
        # In one pass MiniLM would read beside it.
        values |= {"backbone": SMOLLM2, "scoring": "windowed"}
    elif scoring == "one_pass" or (read_by, scoring) == (MINILM, "pooled"):
        values["scoring"] = "windowed"
    return RewardModelSettings.model_validate(values)


def train_gold(lesson: GoldLesson, out: Path) -> tuple[Path, Path]:
    """Train both models into ``out`` (``a`` and ``b``), as far as they are not there; their folders.

    Raises UnitError: nothing says what a reaction is worth, or a loss that is not finite. InputError: The encoder
    cannot be loaded.
    """
    folders = (out / "a", out / "b")
    for half, folder in zip(lesson.halves, folders, strict=True):
        if (folder / CONFIG).is_file() and (folder / WEIGHTS).is_file():  # Of a training before, or before a kill.
            continue
        out.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix="tmp.", dir=out))
        try:
            _train(lesson, half, scratch)
            place_folder(scratch, folder)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    return folders


def _train(lesson: GoldLesson, half: Sequence[Session], out: Path) -> None:
    config = lesson.config
    data = TrainingData(_episodes(half, lesson.rating))
    if lesson.method == SCORES:
        train_directly(SCORES, SCORES, data, config, out, silent)
        return
    read = [read_session(session, lesson.rating, config.settings.reaction) for session in half]
    data = TrainingData(data.episodes, reactions=pa.concat_tables(read))
    # In standard deviations of what reactions are worth: no level of a score is needed.
    taught = Lesson(reaction_worth(lesson.method, data, config), data.episodes)
    train_reward_model(taught, config.model, config.seed, out, silent)


def _episodes(half: Sequence[Session], rating: str | None) -> SplitEpisodes:
    """Those of a half; every fifth session stops the training."""
    episodes: list[Episode] = [episode for session in half for episode in session.episodes(rating)]
    split = ["validation" if place % HELD_OUT == HELD_OUT - 1 else "train" for place in range(len(half))]
    table = pa.table([[session.session_id for session in half], split], schema=SPLITS.arrow)
    return SplitEpisodes(episodes, table)


def _scored(session: Session, rating: str | None) -> bool:
    return any(episode.is_rated and episode.target_turns for episode in session.episodes(rating))
