"""Simulated dialogues: social games and scenarios, their rules, agents and judges; an episode becomes a corpus.

From the ground up: `actions` (what an agent does), `rng` (random numbers of one episode), `environment` (the
environment: observations, legal acts, steps, outcome, clone, replay), `agents` (who acts), `terminal` (a person as
one), `report_tables` (tables and pictures of what was played), `episode_log` (an act a line), `collect_episodes` (one
episode to its end; many, logged and gone on with), `corpus_export` (an episode as a session), `role_assignment` (who
plays on, and who scores: rules or a judge), `episode_restorer` (what an environment lends to whoever plays its sessions
on), `rollout_preview` (what is kept of a play, and asked next), `restored_episode` (a session at any of its acts,
played on), `episode_replay` (found again in its log), `simulation` (a choice of what is played by whom, to a corpus),
`concurrent_rollouts` (plays beside each other), `rollout` (what some of its acts are worth, played on), `tournament`
(every agent with every other), `sotopia` (social episodes), `negotiation` (two share things out), `deduction` (games of
hidden roles), `human_play` (a person takes part in one of these), `stackelberg` (the tables of a paper on all of
these), `worlds` (which there are, a row each), `registry` (which environment made a session), `wrappers` (as other
people's trainers want them).
"""
