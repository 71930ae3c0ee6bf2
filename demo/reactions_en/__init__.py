"""The dialogues that taught `reactions-en`, what was judged of them, and the command that learns it again.

From the ground up: `learn` (from `dialogues.jsonl` and `judgements.jsonl` to the model).
"""
