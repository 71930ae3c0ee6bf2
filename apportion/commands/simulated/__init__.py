"""Commands of simulated dialogues: `simulate` plays them."""
