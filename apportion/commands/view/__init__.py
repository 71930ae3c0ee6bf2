"""Commands of the viewer: `view` (a run in the browser, or as files), `status` (how far it is); labels by people:
`label_serve`, `labels`; scores over HTTP: `score_serve`."""
