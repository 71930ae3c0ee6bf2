"""An alignment by several processes of this machine.

From the ground up: `worker` (the job as a folder of files, and what each process does), `launcher` (the accelerate
configs; starts the processes and passes on what they tell).
"""
