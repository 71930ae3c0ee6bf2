"""Models of reactions that come with this package, each with its card: `reactions-en` (a student of a language model's
judgements of made-up English dialogues, `demo/reactions_en`)."""
