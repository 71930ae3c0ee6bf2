"""Simulated dialogues: social games and scenarios, their rules, agents and judges; an episode becomes a corpus.

From the ground up: `simulator` (what an environment lends to whoever plays its sessions on), `simulators` (which
environment made a session). No environment of ours is here yet; packages bring theirs as entry points.
"""
