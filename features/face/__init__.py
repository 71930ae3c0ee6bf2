"""What is measured in a person's face.

From the ground up: `face` (a square with eyes and mouth, and what it showed), `choice` (which back-end `auto` is),
`happiness` (whether a face looks happy, by its picture), `backends` and `mesh` (what finds faces; `mesh` also reads
them), `detector` (one of them, opened), `gaze` (from one picture), `nods` (nods, from the head's path),
`tracker` (one face from picture to picture), `expressions` (smile and gaze over time), `face_features` (all of it, in
one decoding pass), `video_analysis` (of a file).
"""
