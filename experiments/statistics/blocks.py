"""The long table that every statistic of an arm starts from, or a refusal.

Columns have names, so that no statistic depends on the order of an array's axes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from pandas.api import types

from experiments.table import BLOCK, KEY

COLUMNS = (*KEY, "value")

#: Columns that may be there and then must hold one value, or two things are mixed.
_UNMIXED = ("study", "metric")


def checked(values: pd.DataFrame, *, missing: bool = False) -> pd.DataFrame:
    """Returns the named columns of a long table, sorted by block and arm.

    Args:
        values: Long table of arm, task, instance, seed and value.
        missing: Whether a value may be NaN.

    Raises:
        TypeError: A column holds another type than it should.
        ValueError: The table is empty, a column is missing, studies or metrics are
            mixed, a run is there twice, a block lacks an arm, or a value is not finite.
    """
    lacking = [column for column in COLUMNS if column not in values.columns]
    if lacking:
        raise ValueError(f"values must have the columns {', '.join(lacking)}")
    if values.empty:
        raise ValueError("values must not be empty")
    for column in _UNMIXED:
        if column in values.columns and values[column].nunique(dropna=False) > 1:
            found = ", ".join(sorted(map(str, values[column].unique())))
            raise ValueError(f"values must hold one {column}, got {found}")
    table = values[list(COLUMNS)].reset_index(drop=True)
    _check_types(table)
    table["value"] = table["value"].astype(np.float64)
    _check_cells(table)
    wrong = np.isinf(table["value"]) if missing else ~np.isfinite(table["value"])
    if wrong.any():
        row = table[wrong].iloc[0]
        raise ValueError(f"value must be finite, got {row['value']} {_place(row)}")
    return table.sort_values([*BLOCK, "arm"], ignore_index=True)


def _check_types(table: pd.DataFrame) -> None:
    for column in COLUMNS:
        series = table[column]
        if column in ("arm", "task"):
            right, kind = types.is_string_dtype(series), "strings"
            right = right and not series.isna().any()
        elif column == "value":
            right, kind = types.is_numeric_dtype(series), "real numbers"
        else:
            right, kind = types.is_integer_dtype(series), "integers"
        if not right:
            raise TypeError(
                f"the column {column} of values must hold {kind}, got {series.dtype}"
            )


def _check_cells(table: pd.DataFrame) -> None:
    twice = table.duplicated(list(KEY))
    if twice.any():
        row = table[twice].iloc[0]
        raise ValueError(f"values must hold a run once, got {_place(row)} twice")
    arms = sorted(table["arm"].unique())
    sizes = table.groupby(list(BLOCK), sort=True).size()
    short = sizes[sizes < len(arms)]
    if len(short):
        task, instance, seed = short.index[0]
        here = table[list(BLOCK)].eq([task, instance, seed]).all(axis=1)
        lacking = sorted({*arms}.difference(table.loc[here, "arm"]))[0]
        raise ValueError(
            f"values must hold every arm in every block, got no {lacking} at task "
            f"{task}, instance {instance}, seed {seed}"
        )


def _place(row: pd.Series[Any]) -> str:
    return (
        f"of {row['arm']} at task {row['task']}, instance {row['instance']}, "
        f"seed {row['seed']}"
    )
