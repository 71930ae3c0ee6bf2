"""What several prompts share: rules, the part of a long dialogue, questions and wordings by a rating's name."""
