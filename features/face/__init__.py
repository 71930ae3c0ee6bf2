"""What is measured in a person's face.

From the ground up: `face` (a square with eyes and mouth), `cascade`, `haar`, `yunet` and `landmarker` (what finds
faces), `detector` (the choice of one), `gaze` and `smile` (from one picture), `swings` and `nods` (from the head's
path), `tracker` (one face from picture to picture), `measures` (all of it, in one decoding pass).
"""
