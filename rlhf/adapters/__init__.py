"""Turn rewards for other people's trainers: a file each, which imports nothing of the trainer unless it must.

Shared: `scoring` (who pays the turns of a conversation: a reward model, or the record of a run; advantages by token),
`dialogue` (a conversation whose other side says what it said in the record). Then `verl` and `verl_loop`, `openrlhf`,
`skyrl`, `atropos`, `prime_rl`, `nemo_rl`, `rllm`, and `inspect_scorer` for evaluations. TRL's are
`apportion.reward_model.trl_reward` and `apportion.rlhf.trainers.turn_credit`. Rows for them all: `apportion export
--for`.
"""
