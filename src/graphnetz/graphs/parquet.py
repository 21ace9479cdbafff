"""Tables in Parquet, where pyarrow is installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from graphnetz._core.errors import DataError
from graphnetz._core.optional import require
from graphnetz._core.readers import regular


def read_parquet(path: Path) -> Any:
    """Return a table of a Parquet file as a frame.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> file = Path(tempfile.mkdtemp()) / "edges.parquet"
    >>> pd.DataFrame({"source": ["a"], "target": ["b"]}).to_parquet(file)
    >>> read_parquet(file).columns.tolist()
    ['source', 'target']
    """
    require("pyarrow", extra="parquet", purpose="Reading Parquet")
    import pandas as pd

    if not path.is_file():
        raise DataError(f"The file {str(path)!r} does not exist; give a table in Parquet or CSV.")
    regular(path, give="Give a table in Parquet or CSV.")
    try:
        return pd.read_parquet(path, engine="pyarrow")
    except Exception as error:  # pyarrow has errors of its own
        raise DataError(
            f"The file {str(path)!r} cannot be read as Parquet ({type(error).__name__}: {error})."
        ) from error
