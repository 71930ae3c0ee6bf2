"""The same prompts in other words, for the audit."""
