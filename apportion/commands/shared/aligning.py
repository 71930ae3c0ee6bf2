"""The options of `apportion run` that go before keys of [align]."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from apportion.commands.shared.options import LazyChoice, option_names
from apportion.pipeline.config import Config

ALIGN_OPTIONS = (
    click.option(
        "--algorithm", type=LazyChoice("apportion.rlhf.algorithms:ALGORITHMS"), help="How the policy is fine-tuned."
    ),
    click.option("--policy", metavar="NAME", help="tiny, smollm2, or a causal language model by folder or Hub name."),
    click.option("--reward-method", metavar="METHOD", help="The method whose reward model is used."),
    click.option("--reward-model", metavar="FOLDER", help="A reward model that another run has trained."),
    click.option("--steps", type=int, metavar="N", help="Rounds of sampling and updates; of sft, updates."),
    click.option("--lr", type=float, metavar="X", help="Learning rate."),
    click.option("--beta", type=float, metavar="X", help="Weight of the divergence from the start."),
    click.option("--max-new-tokens", type=int, metavar="N", help="Longest reply."),
    click.option("--device", type=click.Choice(["auto", "cpu", "cuda"]), help="Where the policy runs."),
    click.option(
        "--dtype", type=click.Choice(["auto", "float32", "bfloat16"]), help="Number format of the frozen weights."
    ),
    click.option(
        "--anyway",
        is_flag=True,
        default=None,
        help="Train against a reward model that agrees with people no more than controls do.",
    ),
    click.option("--processes", type=int, metavar="N", help="Processes that share each step, a GPU each with cuda."),
)
"""Each goes before the key of [align] of its name; a run is known by what they give, as by the configuration's."""
KEYS = (
    *("algorithm", "policy", "reward_method", "reward_model", "steps", "lr", "beta", "max_new_tokens", "device"),
    *("dtype", "anyway", "processes"),
)
"""The keys of [align] that have an option each."""


def aligned_as_asked(config: Config, options: dict[str, Any]) -> tuple[Config, dict[str, Any]]:
    """``config`` with what of ``options`` goes before its keys, which are taken out of them; and what was given.

    Raises InputError: See `Config.with_algorithm` and `Config.with_align`.
    """
    asked = {key: options.pop(key) for key in KEYS}
    given = {key: value for key, value in asked.items() if value is not None}
    others = {key: value for key, value in given.items() if key != "algorithm"}
    if "algorithm" in given:
        config = config.with_algorithm(given["algorithm"])
    return config.with_align(Path.cwd(), option_names(), **others), given
