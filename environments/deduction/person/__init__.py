"""A person takes a seat of any game of hidden roles: `telling` (what is read and typed), `playing` (to a corpus)."""
