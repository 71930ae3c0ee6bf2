"""What is measured in a person's face.

From the ground up: `face` (a square with eyes and mouth, and what it showed), `choice` (which back-end `auto` is),
`backends` and `mesh` (what finds faces; `mesh` also reads them), `detector` (one of them, opened), `gaze` (from one
picture), `nods` (nods, from the head's path), `tracker` (one face from picture to picture), `expressions` (smile and
gaze over time), `emotion_reading` (emotions of one picture), `face_features` (all of it, in one decoding pass),
`video_analysis` (of a file).
"""
