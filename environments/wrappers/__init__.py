"""Environments as other people's trainers want them; nothing here imports a trainer.

From the ground up: `spaces` (words and acts as Gymnasium's spaces), `aec` (PettingZoo's agent-environment cycle); both
need the extra `pettingzoo`.
"""
