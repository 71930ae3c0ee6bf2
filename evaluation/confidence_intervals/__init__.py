"""How sure a figure is: `bootstrap` (an estimate with its interval by drawing sessions again, or why there is none)."""
