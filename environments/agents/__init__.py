"""Who acts in an environment: `agent` (the protocol, scripts made of a function, one that draws)."""
