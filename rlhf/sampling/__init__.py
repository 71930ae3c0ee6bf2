"""Replies of a policy.

From the ground up:

- `rollout`: one reply to each context
- `partner`: the other side of a dialogue, and the recorded one
- `drawn`: replies whose random numbers are their own; `policy_agent`: a policy as an agent of an environment
- `environment_partner`: an environment as the other side; `sotopia_starts`: the social episodes that are played in it
- `live_partner`: one that answers what the policy says; `language_model_partner` and `policy_partner` are two of them
- `several_turns`: the policy speaks, the other side answers, the policy goes on
- `before_after`: replies before and after the training, side by side
"""
