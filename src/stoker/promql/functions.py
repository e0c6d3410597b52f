"""The functions of PromQL as a table: arguments, result, and which Prometheus has them."""

from typing import Final

from msgspec import Struct

from stoker.promql.syntax import ALWAYS, EXPERIMENTAL_FUNCTIONS, Gate, Version

SCALAR: Final = "scalar"
VECTOR: Final = "instant vector"
MATRIX: Final = "range vector"
STRING: Final = "string"

# How the table writes the arguments of a function: a letter for each. After the last one `?` says
# that it may be absent, `*` that any number may follow, and a digit how many there may be.
_LETTERS: Final = {"n": SCALAR, "v": VECTOR, "r": MATRIX, "s": STRING}


class Function(Struct, frozen=True):
    """A function: `arguments` are types, the last one for all that follow; `most` may be open."""

    name: str
    arguments: tuple[str, ...]
    returns: str
    least: int
    most: int | None
    gate: Gate | None


def _row(name: str, written: str = "", returns: str = VECTOR, gate: Gate | None = None) -> Function:
    letters = written.rstrip("?*123456789")
    arguments = tuple(_LETTERS[letter] for letter in letters)
    count, times = len(letters), written[len(letters) :]
    if not times:
        return Function(name, arguments, returns, count, count, gate)
    most = None if times == "*" else count - 1 + int(times.replace("?", "1"))
    return Function(name, arguments, returns, count - 1, most, gate)


def _since(name: str, since: Version) -> Gate | None:
    return Gate(f"the function `{name}`", since) if since > ALWAYS else None


def _experiment(
    name: str,
    since: Version,
    written: str = "",
    returns: str = VECTOR,
    stable: Version | None = None,
) -> Function:
    what = f"the function `{name}`"
    gate = Gate(what, since, flag=EXPERIMENTAL_FUNCTIONS, stable=stable)
    return _row(name, written, returns, gate)


# Functions of one instant vector, by the version that brought them.
_OF_A_VECTOR: Final[tuple[tuple[Version, str], ...]] = (
    (ALWAYS, "abs absent ceil exp floor ln log10 log2 sort sort_desc sqrt timestamp"),
    ((2, 26, 0), "sgn"),
    ((2, 31, 0), "acos acosh asin asinh atan atanh cos cosh deg rad sin sinh tan tanh"),
    ((2, 40, 0), "histogram_count histogram_sum"),
    ((2, 47, 0), "histogram_stddev histogram_stdvar"),
    ((2, 51, 0), "histogram_avg"),
)
# Functions of one range vector.
_OF_A_RANGE: Final[tuple[tuple[Version, str], ...]] = (
    (
        ALWAYS,
        "absent_over_time avg_over_time changes count_over_time delta deriv idelta increase irate"
        " max_over_time min_over_time rate resets stddev_over_time stdvar_over_time sum_over_time",
    ),
    ((2, 26, 0), "last_over_time"),
    ((2, 29, 0), "present_over_time"),
)
# Functions of the time, or of the timestamps in a vector.
_OF_TIME: Final[tuple[tuple[Version, str], ...]] = (
    (ALWAYS, "day_of_month day_of_week days_in_month hour minute month year"),
    ((2, 38, 0), "day_of_year"),
)


def _rows(written: str, table: tuple[tuple[Version, str], ...]) -> list[Function]:
    return [
        _row(name, written, gate=_since(name, since))
        for since, names in table
        for name in names.split()
    ]


_HOLT_WINTERS: Final = Gate(
    "the function `holt_winters`",
    until=(3, 0, 0),
    instead=": it is called `double_exponential_smoothing` now",
)

FUNCTIONS: Final = {
    row.name: row
    for row in (
        *_rows("v", _OF_A_VECTOR),
        *_rows("r", _OF_A_RANGE),
        *_rows("v?", _OF_TIME),
        _row("clamp", "vnn", gate=_since("clamp", (2, 26, 0))),
        _row("clamp_max", "vn"),
        _row("clamp_min", "vn"),
        _row("histogram_fraction", "nnv", gate=_since("histogram_fraction", (2, 40, 0))),
        _row("histogram_quantile", "nv"),
        _row("holt_winters", "rnn", gate=_HOLT_WINTERS),
        _row("label_join", "vsss*"),
        _row("label_replace", "vssss"),
        _row("pi", "", SCALAR, gate=_since("pi", (2, 31, 0))),
        _row("predict_linear", "rn"),
        _row("quantile_over_time", "nr"),
        _row("round", "vn?"),
        _row("scalar", "v", SCALAR),
        _row("time", "", SCALAR),
        _row("vector", "n"),
        _experiment("mad_over_time", (2, 49, 0), "r"),
        _experiment("sort_by_label", (2, 49, 0), "vs*"),
        _experiment("sort_by_label_desc", (2, 49, 0), "vs*"),
        _experiment("info", (2, 55, 0), "vv?"),
        _experiment("double_exponential_smoothing", (3, 0, 0), "rnn"),
        _experiment("ts_of_last_over_time", (3, 5, 0), "r"),
        _experiment("ts_of_max_over_time", (3, 5, 0), "r"),
        _experiment("ts_of_min_over_time", (3, 5, 0), "r"),
        _experiment("first_over_time", (3, 7, 0), "r", stable=(3, 14, 0)),
        _experiment("ts_of_first_over_time", (3, 7, 0), "r"),
        _experiment("histogram_quantiles", (3, 11, 0), "vsnn9"),
        *(_experiment(name, (3, 12, 0), "", SCALAR) for name in ("start", "end", "step", "range")),
        _experiment("max_of", (3, 13, 0), "nn", SCALAR),
        _experiment("min_of", (3, 13, 0), "nn", SCALAR),
        _experiment("start_timestamp", (3, 14, 0), "v"),
    )
}
