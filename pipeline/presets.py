"""What a preset has brought, and what stands in the place of what it names.

`python -m pipeline.presets` prints the table of docs/paper_preset.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from foundation.listing import listed
from foundation.presets import PresetSettings, items
from pipeline.config import Config, sections_with
from reward_model.settings import MINILM


def preset_notes(config: Config, *, aligns: bool = True) -> tuple[str, ...]:
    """What a reader has to know of a run by a preset: stand-ins, and the keys that went before it; none without one.

    ``aligns`` is False where no policy is spoken of.
    """
    aligns = aligns and config.align.enabled
    named: dict[str, PresetSettings] = {section: getattr(config, section) for section in sections_with("paper")}
    chosen = {
        section: settings
        for section, settings in named.items()
        if getattr(settings, "preset", None) and (aligns or section != "align")
    }
    if not chosen:
        return ()
    notes = [f"Settings by preset: {', '.join(f'{name} ({_preset(values)})' for name, values in chosen.items())}."]
    train = config.train_reward
    if train.preset is not None and train.backbone == MINILM:
        published = dict(items(train.PRESETS[train.preset]))["backbone"].value
        how = "frozen" if train.freeze_backbone else "trained"
        notes.append(
            f"The embedded MiniLM ({how}) stands in the place of BART ({published}), with its own training settings: "
            "what is published for training BART is not used."
        )
    if "align" in chosen and config.align.policy == "tiny":
        notes.append("The small policy `tiny` stands in LLaMA-2-7B's place, with its own learning rate.")
    departed = list(_departures(chosen))
    if departed:
        notes.append(f"Keys that went before the preset: {listed(departed, 12)}.")
    return tuple(notes)


def _departures(chosen: dict[str, PresetSettings]) -> Iterator[str]:
    for section, settings in chosen.items():
        for name, value, published in settings.departures():
            yield f"{section}.{name} = {_shown(value)} (published: {_shown(published.value)})"


def table() -> list[str]:
    """Every value of the preset `paper` with its source, as the Markdown table of its page."""
    lines = ["| key | value | where it is from |", "|---|---|---|"]
    for section, kind in sections_with("paper").items():
        for name, published in items(kind.PRESETS["paper"]):
            lines.append(f"| `{section}.{name}` | `{_shown(published.value)}` | {published.source} |")
    return lines


def _preset(settings: PresetSettings) -> str:
    return str(getattr(settings, "preset", None))


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    print("\n".join(table()))
