"""The demo corpus: synthetic conversations with known turn qualities, and the scripts that make it."""
