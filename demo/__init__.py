"""The demo: a corpus of synthetic conversations with known turn qualities, its configuration, recorded replies.

``demo.toml`` is what ``apportion demo`` runs, ``corpus/`` the conversations, ``llm_replies.jsonl`` a model's replies,
``ground_truth.json`` what is planted, and ``builders/`` the scripts that made it, which no wheel holds.
"""
