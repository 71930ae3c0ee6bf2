"""Commands of the viewer: `view` (a run in the browser)."""
