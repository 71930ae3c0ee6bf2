"""Vectors of so many turns that they stay in a file without a name; rows are in memory while somebody looks at them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


class StoredVectors:
    """N vectors [shape=(N, d)] in ``file``, or the ``rows`` of them in this order."""

    def __init__(self, file: IO[bytes], dtype: Any, stored: tuple[int, int], rows: NDArray[np.int64] | None = None):
        file.flush()
        self._file, self._dtype, self._stored, self._rows = file, dtype, stored, rows
        self.shape = (stored[0] if rows is None else len(rows), stored[1])

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: NDArray[np.int64] | slice) -> NDArray[Any]:
        """A copy of those rows. The file is mapped as long as that takes: what is mapped counts as memory."""
        taken = rows if self._rows is None else self._rows[rows]
        if not len(self):
            return np.zeros(self.shape, self._dtype)[taken]
        return np.array(np.memmap(self._file, self._dtype, "r", shape=self._stored)[taken])

    def __array__(self, *as_: Any, **how: Any) -> NDArray[Any]:
        return np.asarray(self[:], *as_)

    def taken(self, rows: NDArray[np.int64]) -> StoredVectors:
        """Those of the rows, none of them read."""
        return StoredVectors(self._file, self._dtype, self._stored, rows if self._rows is None else self._rows[rows])


@dataclass(frozen=True, eq=False)
class VectorTable:
    """A table whose columns of ``vectors`` are stored; what is asked of the ``others`` is asked as of a `pa.Table`."""

    others: Any
    vectors: Mapping[str, StoredVectors]

    def __len__(self) -> int:
        return len(self.others)

    def column(self, name: str) -> Any:
        """A column, vectors read into memory as lists of one size."""
        if name not in self.vectors:
            return self.others.column(name)
        read = self.vectors[name][:]
        return pa.FixedSizeListArray.from_arrays(read.reshape(-1), read.shape[1])

    __getitem__ = column

    def __getattr__(self, name: str) -> Any:
        return getattr(self.others, name)
