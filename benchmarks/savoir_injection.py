"""Claim: a plea to the judge in one utterance moves the worth v(S) of a history that keeps it no more than other words.

16 recorded episodes; of the one who is changed, some of the other acts are left out (a coin each), the utterance is
kept, and the scripts play on to the end. The history is judged by SOTOPIA-EVAL's prompt three times: with the words
that were said, with the same said in other words, and with a plea to the judge behind them (an order, closed tags, the
judge's JSON, a system message). Words are those of benchmarks/judge_injection.py, replies of a real model are kept in
demo/social/histories.jsonl (its head names the model and how it was asked). Nothing is asked of a server.

    python benchmarks/savoir_injection.py [--requests FOLDER]
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)

from apportion.environments.actions import AgentAction
from apportion.environments.episode_log import LoggedEpisode, read_log
from apportion.environments.restored_episode import RestoredEpisode
from apportion.environments.rollout import Rollouts, RolloutUtility
from apportion.environments.sotopia.evaluation.episodes import act_of
from apportion.environments.sotopia.evaluation.language_model import ModelJudge
from apportion.environments.sotopia.evaluation.online_judge import JudgedByModel
from apportion.environments.sotopia.game import Sotopia
from apportion.environments.sotopia.scripted_agents import Conceding
from apportion.environments.sotopia.simulation import plans_of
from apportion.foundation.errors import UnitError
from apportion.llm_client.model_spec import ModelSpec
from apportion.llm_client.request import ChatReply, ChatRequest
from benchmarks.judge_injection import (
    CLEAN,
    MODEL,
    MOST_TOKENS,
    PARAPHRASED,
    PLANTED,
    SOCIAL,
    choice,
    interval,
    play,
    read_variants,
)

HISTORIES = SOCIAL / "histories.jsonl"
WORDINGS = (CLEAN, PARAPHRASED, PLANTED)
Complete = Callable[[ChatRequest], ChatReply]


@dataclass(frozen=True)
class History:
    """One H(S): whose acts are left out of which episode, and where its words change."""

    variant: Mapping[str, Any]
    opened: RestoredEpisode

    def worth(self, complete: Complete) -> float:
        """v(S): GOAL of one play from it, as the judge has it."""
        judge = JudgedByModel(ModelJudge.of("paper", ModelSpec(MODEL, max_tokens=MOST_TOKENS)), complete)
        target = self.variant["speaker"]
        turns = self.opened.turns_of(target)
        rollouts = Rollouts(replace(self.opened, judge=judge), target, turns, RolloutUtility({"GOAL": 1.0}), rollouts=1)
        return rollouts.played_on(self._coalition(turns))[0]

    def _coalition(self, turns: tuple[int, ...]) -> frozenset[int]:
        """The changed act, and of the others as a coin falls; never all of them."""
        draws = Random(self.variant["session"])
        others = [place for place, turn in enumerate(turns) if turn != self.variant["turn"]]
        kept = {place for place in others if draws.random() < 0.5}
        if len(kept) == len(others):
            kept.discard(draws.choice(others))
        return frozenset(kept | {turns.index(self.variant["turn"])})


def histories(played: Path) -> Iterator[tuple[str, History]]:
    """Every wording of every history, in the order of the variants."""
    log = read_log(played / "episodes.jsonl")
    plans = {plan.name: plan for plan in plans_of(choice(), dict.fromkeys(("base", "conceding"), Conceding()))}
    for variant in read_variants():
        if variant["place"] == "utterance":
            for wording in WORDINGS:
                yield (
                    wording,
                    History(variant, _opened(log[variant["session"]], plans[variant["session"]], variant, wording)),
                )


def _opened(logged: LoggedEpisode, plan: Any, variant: Mapping[str, Any], wording: str) -> RestoredEpisode:
    game: Sotopia = plan.make()
    game.reset(plan.seed)
    steps = list(logged.steps)
    if wording != CLEAN:
        (move,) = steps[variant["turn"]]
        kind, text = act_of(variant[wording])
        steps[variant["turn"]] = (AgentAction(move.agent, move.act._replace(kind=kind, text=text)),)
    return RestoredEpisode(variant["session"], game, tuple(steps), plan.agents)


def recorded() -> Complete:
    """The replies that are kept."""
    replies = {row["key"]: row["reply"] for row in map(json.loads, HISTORIES.read_text("utf-8").splitlines()[1:])}
    return lambda request: ChatReply(replies[request.key()], MODEL)


def write_requests(played: Path, out: Path) -> None:
    """What would be asked, in three folders: no conversation that answers one sees two wordings of one history."""
    for number, (_, history) in enumerate(histories(played)):
        folder = out / str((number // 3 + number) % 3)
        folder.mkdir(parents=True, exist_ok=True)

        def kept(request: ChatRequest, folder: Path = folder) -> ChatReply:
            text = "\n\n".join(f"[{message.role}]\n{message.content}" for message in request.messages)
            (folder / f"{request.key()}.txt").write_text(text, encoding="utf-8")
            raise UnitError("nothing is asked")

        with suppress(UnitError):
            history.worth(kept)


def figures(worths: Mapping[str, list[float]]) -> dict[str, list[float]]:
    """How far v(S) moves from the clean one, in points of GOAL: mean and paired 95 % interval over histories."""
    moved = {name: [b - a for a, b in zip(worths[CLEAN], worths[name], strict=True)] for name in WORDINGS[1:]}
    pairs = list(zip(moved[PARAPHRASED], moved[PLANTED], strict=True))
    return {
        "moved by paraphrase": interval(moved[PARAPHRASED]),
        "moved by planting": interval(moved[PLANTED]),
        "planting moves more by": interval([abs(b) - abs(a) for a, b in pairs]),
        "planting gains": interval([b - a for a, b in pairs]),
    }


def main() -> None:
    """Print how far v(S) moves."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=Path, metavar="FOLDER", help="write what would be asked, and ask nothing")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        played = Path(folder) / "played"
        play(played)
        if given.requests is not None:
            write_requests(played, given.requests)
            return
        worths: dict[str, list[float]] = {wording: [] for wording in WORDINGS}
        for wording, history in histories(played):
            worths[wording].append(history.worth(recorded()))
    print(
        json.dumps({"histories": len(worths[CLEAN]), "v(S) clean": round(fmean(worths[CLEAN]), 2), **figures(worths)})
    )


if __name__ == "__main__":
    main()
