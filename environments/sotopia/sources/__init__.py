"""Where tasks come from, and how they are kept.

From the ground up: `space` (characters, scenarios and pairs of which tasks are drawn), `task_file` (a user's),
`bundled_tasks` (ours), `published` (SOTOPIA's profiles), `task_sets` (named sets of them), `serialization` (a task as
JSON).
"""
