"""Simulated dialogues: social games and scenarios, their rules, agents and judges; an episode becomes a corpus.

From the ground up: `acts` (what an agent does), `chance` (random numbers of one episode), `core` (the environment:
observations, legal acts, steps, outcome, clone, replay), `agents` (who acts), `terminal` (a person as one), `reporting`
(tables and pictures of what was played), `play` (one episode to its end), `episode_log` (an act a line), `simulate`
(many episodes, logged and gone on with), `verdict` (who scores: rules or a judge), `to_corpus` (an episode as a
session), `cast` (who plays on and who scores), `simulator` (what an environment lends to whoever plays its sessions
on), `ahead` (what is kept of a play, and asked next), `reopened` (a session at any of its acts, played on),
`logged_session` (found again in its log), `simulation` (a choice of what is played by whom, to a corpus),
`side_by_side` (plays beside each other), `rollout` (what some of its acts are worth, played on), `tournament` (every
agent with every other), `sotopia` (social episodes), `negotiation` (two share things out), `deduction` (games of hidden
roles), `stackelberg` (the tables of a paper on all of these), `simulators` (which environment made a session),
`wrappers` (as other people's trainers want them).
"""
