"""A face's rigid points in space, to which the points of a picture are fitted."""

from __future__ import annotations

CANONICAL: dict[int, tuple[float, float, float]] = {
    1: (0.000, 0.443, -0.448),
    4: (0.000, 0.372, -0.474),
    5: (0.000, 0.277, -0.450),
    6: (0.000, 0.049, -0.282),
    8: (0.000, -0.128, -0.242),
    9: (0.000, -0.220, -0.261),
    10: (0.000, -0.537, -0.213),
    21: (-0.705, -0.227, 0.275),
    33: (-0.500, 0.000, 0.000),
    54: (-0.646, -0.347, 0.138),
    67: (-0.387, -0.504, -0.126),
    103: (-0.548, -0.442, -0.003),
    127: (-0.747, 0.054, 0.540),
    129: (-0.226, 0.399, -0.154),
    133: (-0.190, 0.025, -0.059),
    151: (0.000, -0.377, -0.245),
    162: (-0.737, -0.101, 0.422),
    168: (0.000, -0.041, -0.237),
    195: (0.000, 0.199, -0.391),
    197: (0.000, 0.128, -0.335),
    234: (-0.737, 0.200, 0.596),
    251: (0.705, -0.227, 0.275),
    263: (0.500, 0.000, 0.000),
    284: (0.646, -0.347, 0.138),
    297: (0.387, -0.504, -0.126),
    332: (0.548, -0.442, -0.003),
    356: (0.747, 0.054, 0.540),
    358: (0.226, 0.399, -0.154),
    362: (0.190, 0.025, -0.059),
    389: (0.737, -0.101, 0.422),
    454: (0.737, 0.200, 0.596),
}
"""Place of some of the mesh's points, in distances of the eyes' outer corners: x right in the picture, y down, z away
from the camera, from the middle between the eyes; corners of the eyes, nose, forehead and temples, which speech does
not move.

It is the network's own answer to the drawn faces of the tests (both looks, still), averaged over them and their mirror
images by Procrustes' fit and turned so that they, who look at the viewer, are at 0 degrees.
"""
