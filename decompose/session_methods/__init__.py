"""Methods to which one session is enough: an episode in, a judgement of each of its target's turns out.

From the ground up: `llm_requests` (what a method asks or plays first, listed), `runner` (a whole session, and what a
method's code has to be), the methods `baselines`, `sentiment`, `affect`, `intensity`, `llm`, `rubric` (signals that a
model finds), `dimensions` (Sotopia-RL over several ratings) and `savoir` (credit by rollouts, six ways), and
`exact_labels` (where all can be played).
"""
