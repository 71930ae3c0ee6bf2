"""Environments as other people's trainers want them; nothing here imports a trainer.

`seated_episode` (some seats are played from outside, agents have the others; every door is one), `world_tasks` (what a
world by its name has for one), `aec` (PettingZoo's agent-environment cycle and Gymnasium's spaces, with the extra
`pettingzoo`), `single_player` (a seat as Gymnasium's environment), `tool_episode` (a seat that is played by calling a
tool, for TRL), `openenv` (all worlds behind one server of OpenEnv), `verifiers` (as its taskset and environment),
`textarena` (our worlds in TextArena, and its games here).
"""
