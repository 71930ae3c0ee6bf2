"""Dialogues of acts: `dialogues` (as arrays), `human` (people's)."""
