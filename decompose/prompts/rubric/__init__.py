"""The prompts of `llm-rubric`: one writes signals from scored dialogues, one finds them at the turns of a dialogue."""
