"""Replies of a policy.

From the ground up:

- `rollout`: one reply to each context, and replies whose random numbers are their own
- `vllm_engine`: replies drawn by vLLM in the model's place
- `partner`: the other side of a dialogue, recorded or live; `language_model_partner` and `policy_partner` are live ones
- `policy_agent`: a policy as an agent of an environment
- `environment_partner`: an environment as the other side; `starts`: what is played in it; `live_credit`: what each turn
  of an episode has brought
- `multi_turn`: the policy speaks, the other side answers, the policy goes on; replies before and after a training
"""
