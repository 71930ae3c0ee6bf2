"""SOTOPIA-π: behaviour cloning of an expert, then self-reinforcement (Wang et al., 2024, Interactive learning of
socially intelligent language agents).

The paper's expert is GPT-4, which also rates each episode; its tasks are written anew by GPT-4. Here the expert is a
script, the goal score is exact, and the tasks are the bundled bargains.

Choices where the paper leaves one, or cannot be followed:

- Filter. The paper keeps the episodes in which a seat's goal was rated high, next to others of the same task. Here, of
  each task and seat, the ``top`` best of ``draws`` are kept, if they score ``least``.
- Behaviour cloning learns from the expert's episodes by the same filter, with ``least`` = 0: what the expert reaches is
  what there is to clone.
- Self-reinforcement learns from what the policy itself played since the last update, in each round anew, drawn
  more freely (``explore``) than it is evaluated; the adapters go on from where they are (the paper's "BC + SR").
- The loss is the likelihood of the seat's own words alone, each after all that the policy would read before it.
"""

from __future__ import annotations

from apportion.foundation.errors import UnitError
from apportion.rlhf.social.episodes import Scores, SocialEpisode, best_of_each
from apportion.rlhf.social.run import SocialRun


def train(run: SocialRun) -> None:
    """Behaviour cloning (unless ``cloning`` is off), then ``rounds`` of self-reinforcement.

    Raises UnitError: no episode of a round passes the filter.
    """
    settings = run.settings
    if settings.cloning:
        learn_best(run, run.play(run.expert, "cloning"), 0.0, "cloning")
    for number in range(1, settings.rounds + 1):
        played = run.play(run.agent(explore=True), f"round-{number}")
        learn_best(run, played, settings.least, f"round {number}")


def learn_best(run: SocialRun, played: list[SocialEpisode], least: float, tag: str) -> None:
    """Learn from those of the ``played`` episodes that pass the filter; raises UnitError where none does."""
    kept = best_of_each(played, run.settings.top, least)
    scores = Scores.of(played)
    if not kept:
        best = max(episode.score for episode in played)
        raise UnitError(
            f"{tag}: no episode of {len(played)} has a goal score of {least:g}; the best has {best:.2f}. Lower least, "
            "raise draws, or let the expert be cloned first."
        )
    kept_mean = sum(episode.score for episode in kept) / len(kept)
    run.tell(f"{tag}: {len(kept)} of {len(played)} episodes kept, mean {kept_mean:.2f} of {scores.mean.value:.2f}")
    run.learn([episode.steps for episode in kept], tag)
