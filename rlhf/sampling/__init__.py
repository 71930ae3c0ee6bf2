"""Replies of a policy.

From the ground up:

- `rollout`: one reply to each context
- `partner`: the other side of a dialogue, and the recorded one
- `live_partner`: one that answers what the policy says; `language_model_partner` and `policy_partner` are two of them
- `several_turns`: the policy speaks, the other side answers, the policy goes on
- `before_after`: replies before and after the training, side by side
"""
