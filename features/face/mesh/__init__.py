"""The back-end `mesh`: 468 points of a face and the outlines of its eyes, and what they tell.

From the ground up: `crop` (an upright square of a picture), `networks` (what OpenCV runs), `landmarks` (a face's 468),
`head_pose`, `eyes`, `eye_state`, `mouth`, `smile`, `brow_raise` (and the frown), `gaze` (a definition each),
`detector` (finds and follows faces), `frame_features` (one picture's behaviour), `nods` (by the head's path and pose),
`single_nods` (of one dip), `expressions` (over time).
"""
