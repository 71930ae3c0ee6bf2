"""What finds faces, but for the mesh, which has a room of its own.

From the ground up: `cascade` and `haar`, `yunet`, `landmarker` (a FaceLandmarker file).
"""
