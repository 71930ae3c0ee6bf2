"""Languages of sessions: `chats` writes dialogues in German, Chinese, Spanish, English and in two of them."""
