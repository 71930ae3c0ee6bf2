"""Environments as other people's trainers want them; nothing here imports a trainer.

From the ground up: `spaces` (words and acts as Gymnasium's spaces) and `aec` (PettingZoo's agent-environment cycle),
which need the extra `pettingzoo`; `tool_episode` (a seat that is played by calling a tool, for TRL).
"""
