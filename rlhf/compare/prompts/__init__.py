"""The prompt of a language model that judges: `judge.txt`."""
