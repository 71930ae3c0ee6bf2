"""Carrying a run out.

From the ground up: `time_limit` (how long questions may take), `orchestrator_state` (what all tasks of a run hold to),
`worker_errors` (a process that was killed, told),
`shards` (the calls that every orchestrator makes), `runner` (stages over processes or any executor), `cluster`
(Dask as an executor, here, elsewhere or by Slurm), `status` (how far a run is), `summary` (what it has come to),
`local` (one run as the command does it).
"""
