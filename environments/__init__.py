"""Simulated dialogues: social games and scenarios, their rules, agents and judges; an episode becomes a corpus.

From the ground up: `acts` (what an agent does), `chance` (random numbers of one episode), `core` (the environment:
observations, legal acts, steps, outcome, clone, replay), `agents` (who acts), `terminal` (a person as one), `play` (one
episode to its end), `episode_log` (an act a line), `simulate` (many episodes, logged and gone on with), `to_corpus` (an
episode as a session), `simulator` (what an environment lends to whoever plays its sessions on), `verdict` (who scores:
rules or a judge), `reopened` (a session at any of its acts, played on), `rollout` (what some of its acts are worth,
played on), `tournament` (every agent with every other), `sotopia` (social episodes), `negotiation` (two share things
out), `simulators` (which environment made a session), `wrappers` (as other people's trainers want them).
"""
