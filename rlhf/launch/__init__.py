"""An alignment by several processes of this machine.

From the ground up: `config` (the accelerate configs), `worker` (the job as a folder of files, and what each process
does), `launcher` (starts the processes and passes on what they tell).
"""
