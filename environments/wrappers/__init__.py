"""Environments as other people's trainers want them; nothing here imports a trainer.

`aec` (PettingZoo's agent-environment cycle and Gymnasium's spaces, with the extra `pettingzoo`), `tool_episode` (a seat
that is played by calling a tool, for TRL).
"""
