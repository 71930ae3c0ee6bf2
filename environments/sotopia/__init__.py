"""Social episodes with private goals (SOTOPIA, Zhou et al., 2024).

From the ground up: `goal_checks` (what rules can check), `tasks` (characters, what one knows of another, scenarios, who
plays what), `bundled` (characters and scenarios of our own), `sources` (where tasks come from), `rule_evaluator` (GOAL,
FIN and SEC by rules), `observation` (what an agent reads), `game` (the episode), `text_rendering` (for a person),
`scripted_agents` and `agents` (who can play), `simulation` (from a choice to a corpus), `simulator` (its sessions
played on), `evaluation` (SOTOPIA-EVAL: language models score an episode in seven dimensions), `reports` (the paper's
tables from such scores), `generation` (new characters, relationships and scenarios).
"""
