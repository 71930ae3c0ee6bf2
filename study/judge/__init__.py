"""A language model answers a study in a person's place; what it says stays a column of its own beside people's.

From the ground up: `question` (an item as it is asked, in one order of its responses, and what a reply says; its words
are in `prompts/`), `judging` (all items in both orders: their price, a preview, the answers).
"""
