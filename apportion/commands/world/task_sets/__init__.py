"""Commands of social tasks, `apportion world tasks sotopia`.

From the ground up: `task_file` (what those that write a file of tasks say alike), `hard` (tasks that were hard in rated
episodes), `generation` (new tasks by a language model), `tasks` (which tasks there are, and a sample of them).
"""
