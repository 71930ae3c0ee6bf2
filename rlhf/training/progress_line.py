"""What a person sees of a step while a run goes on."""

from __future__ import annotations

from collections.abc import Mapping

PARTS = {
    "reward": "reward {:.3f}",
    "loss": "loss {:.3f}",
    "kl": "KL {:.2f}",
    "response_tokens": "{:.1f} tokens",
    "token_accuracy": "{:.0%} of the tokens foreseen",
    "entropy": "entropy {:.2f}",
    "value_loss": "value loss {:.3f}",
    "clip_fraction": "clipped {:.0%}",
}


def progress_line(algorithm: str, step: int, metrics: Mapping[str, float], samples_per_s: float) -> str:
    """One line of what the step measured; ``algorithm`` as in the settings."""
    parts = [text.format(metrics[name]) for name, text in PARTS.items() if name in metrics]
    return f"{algorithm.upper()} step {step}: {', '.join(parts)}, {samples_per_s:.1f} samples/s"
