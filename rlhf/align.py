"""From dialogues and a reward model to a fine-tuned policy: the entry, which chooses one process or several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from apportion.foundation.errors import InputError, errors_called
from apportion.foundation.progress import Progress, silent
from apportion.rlhf.algorithms import unrewarded
from apportion.rlhf.alignment import align_here
from apportion.rlhf.launch.launcher import align_distributed
from apportion.rlhf.plugins import REWARD_MODEL
from apportion.rlhf.preflight import check_alignment
from apportion.rlhf.training.job import Job, Watcher
from apportion.rlhf.training.reward import load_reward


def align(job: Job, progress: Progress = silent, watch: Sequence[Watcher] = ()) -> tuple[pa.Table, pa.Table]:
    """Fine-tune a policy with LoRA against a reward model of turns (LLM-GELI, section 5.3), or on its own turns.

    The policy answers in the target's place. Its contexts come from the sessions of the ``policy`` split, which the
    reward model was not trained on; those of ``sft``, which asks no reward model, from all sessions but the test ones.
    The samples before and after come from ``test``, where there are such sessions.

    ``job``: Dialogues, reward model, settings, seed, and where the policy goes. With ``settings.processes`` above 1
    that many processes are started. ``progress``: ``progress(done, total, text)`` after every step. ``watch``: Each
    ``watcher(step, metrics)`` after every step. Returns: ``step`` (from 1), ``metric``, ``value``; and ``context``,
    ``before``, ``after``, ``reward_before``, ``reward_after``. Raises InputError: A policy or reward model that cannot
    be loaded, no reward model but for ``sft``, or a setting that does not fit the policy. Raises UnitError: No usable
    contexts, a reward or loss that is not finite, an alarm, no memory left, or a damaged checkpoint.
    """
    job = replace(job, settings=job.settings.placed)
    with errors_called(job.called):
        check_alignment(job.settings)
        if job.reward_model is None and job.settings.reward == REWARD_MODEL and job.settings.trainer.needs_reward:
            raise InputError(
                f"{job.settings.algorithm} raises a reward, and there is no reward model. Give the folder of one, or "
                f"take {unrewarded()}, which needs none."
            )
        if job.settings.processes > 1:
            return align_distributed(job, progress, watch)
        return align_here(job, load_reward(job), progress=progress, watch=watch)
