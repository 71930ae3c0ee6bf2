"""What figures are taken on: `test_set` (test episodes, and values on their turns) and `turn_labels` (their labels)."""
