"""Dialogues of acts: `dialogues` (as arrays), `human` (people's), `low_quality` (those of few different acts)."""
