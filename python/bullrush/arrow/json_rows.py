"""JSON texts as Arrow rows, parsed by the core."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bullrush import extending

if TYPE_CHECKING:
    import pyarrow


def json_as_rows(texts: Sequence[bytes], schema: pyarrow.Schema) -> tuple[pyarrow.RecordBatch, list[int]]:
    """Return one row per JSON object, with the rules of `ArrowReader`, and the positions of texts that do not fit.

    Args:
        texts: the JSON texts.
        schema: the columns. A field that is missing is null; other fields are left out.

    Raises:
        InvalidOptionError: a type of the schema cannot be read from JSON.
    """
    import pyarrow as pa

    objects, corrupt = pa.record_batch(extending.json_as_rows(texts, schema)).columns
    unfit = [place for place, text in enumerate(corrupt.to_pylist()) if text is not None]
    columns = [objects.field(place) for place in range(len(schema))]
    # The text null is valid JSON, and no object.
    unfit += [place for place, fits in enumerate(objects.is_valid().to_pylist()) if not fits and place not in unfit]
    return pa.RecordBatch.from_arrays(columns, schema=schema), sorted(unfit)
