"""What a preset has brought, and what stands in the place of what it names.

`python -m apportion.pipeline.presets` prints the table of docs/explanations/paper-preset.md, with another preset's name
behind it that one's.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

from apportion.foundation.settings import PresetSettings, items
from apportion.foundation.truncate import listed
from apportion.pipeline.config import Config, sections_with
from apportion.reward_model.settings import MINILM

NO_PRESET = "None"
_SHORT = {"paper": "BART", "savoir": "Qwen2.5-7B"}
_POLICIES = {"paper": "LLaMA-2-7B", "savoir": "Qwen2.5-7B"}
"""What stands in each preset for the reward model's backbone, and for the policy."""


def preset_notes(config: Config, *, aligns: bool = True) -> tuple[str, ...]:
    """What a reader has to know of a run by a preset: stand-ins, and the keys that went before it; none without one.

    ``aligns`` is False where no policy is spoken of.
    """
    aligns = aligns and config.align.enabled
    sections = {name: getattr(config, name) for name in type(config).model_fields}
    chosen: dict[str, PresetSettings] = {
        section: settings
        for section, settings in sections.items()
        if isinstance(settings, PresetSettings) and _preset(settings) != NO_PRESET and (aligns or section != "align")
    }
    if not chosen:
        return ()
    notes = [f"Settings by preset: {', '.join(f'{name} ({_preset(values)})' for name, values in chosen.items())}."]
    train = config.train_reward
    if train.preset is not None and train.backbone == MINILM:
        published = dict(items(train.PRESETS[train.preset]))["backbone"].value
        how = "frozen" if train.freeze_backbone else "trained"
        notes.append(
            f"The embedded MiniLM ({how}) stands in the place of {_SHORT[train.preset]} ({published}), with its own "
            f"training settings: what is published for training {_SHORT[train.preset]} is not used."
        )
    if "align" in chosen and config.align.policy == "tiny":
        stands_for = _POLICIES[str(config.align.preset).partition("-")[0]]
        notes.append(f"The small policy `tiny` stands in {stands_for}'s place, with its own learning rate.")
    departed = list(_departures(chosen))
    if departed:
        notes.append(f"Keys that went before the preset: {listed(departed, 12)}.")
    return tuple(notes)


def _departures(chosen: dict[str, PresetSettings]) -> Iterator[str]:
    for section, settings in chosen.items():
        for name, value, published in settings.departures():
            yield f"{section}.{name} = {_shown(value)} (published: {_shown(published.value)})"


def table(preset: str = "paper") -> list[str]:
    """Every value of a preset with its source, as the Markdown table of its page."""
    lines = ["| key | value | where it is from |", "|---|---|---|"]
    for section, kind in sections_with(preset).items():
        for name, published in items(kind.PRESETS[preset]):
            lines.append(f"| `{section}.{name}` | `{_shown(published.value)}` | {published.source} |")
    return lines


def _preset(settings: PresetSettings) -> str:
    return str(getattr(settings, "preset", None))


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{name} = {_shown(one)}' for name, one in value.items())} }}"
    return f"{value:g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    print("\n".join(table(*sys.argv[1:2])))
