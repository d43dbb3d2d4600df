"""Maps in guarded expressions: their keys are looked at before anything is built.

Spark's functions that build a map keep what they build it in from row to row. If one fails on a key, because it is
null or there twice, the keys before it stay there and appear in the map of the next row. A job ends with the first
failure, so nobody sees that; but `TryEval` goes on. So guarded, such a function is only called with keys that it takes;
otherwise the expression fails before it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from sqlglot import exp

from headgate.model import HeadgateError
from headgate.plan.sql.parse import expression
from headgate.plan.sql.words import put, raw, written

_KEYS, _KEY, _ENTRY = "_hg_keys", "_hg_key", "_hg_entry"  # parameters of lambdas; no stream has such columns
LONGEST = 100_000  # characters: maps in maps are written out again at each level


def _of_pairs(arguments: list[str]) -> str:
    return f"array({', '.join(arguments[::2])})"


def _of_arrays(arguments: list[str]) -> str:
    keys, values = arguments
    return f"CASE WHEN size({keys}) = size({values}) THEN {keys} ELSE array(NULL, NULL) END"  # of other lengths: fails


def _of_entries(arguments: list[str]) -> str:
    one = f"map_keys(map_from_entries(array({_ENTRY})))"  # whatever the fields of an entry are called
    return f"flatten(transform({arguments[0]}, {_ENTRY} -> {one}))"


def _of_maps(arguments: list[str]) -> str:
    return f"concat({', '.join(f'map_keys({argument})' for argument in arguments)})"


def _of_text(arguments: list[str]) -> str:
    text, pairs, parts = [*arguments, "','", "':'"][:3] if len(arguments) != 2 else [*arguments, "':'"]
    return f"transform(split({text}, {pairs}), {_ENTRY} -> split({_ENTRY}, {parts}, 2)[0])"


def _transformed(arguments: list[str]) -> str:
    keys, function = arguments
    return f"zip_with(map_keys({keys}), map_values({keys}), {function})"


_KEYS_OF: Mapping[str, Callable[[list[str]], str]] = {
    "map": _of_pairs,
    "map_from_arrays": _of_arrays,
    "map_from_entries": _of_entries,
    "map_concat": _of_maps,
    "str_to_map": _of_text,
    "transform_keys": _transformed,
}
_CALL = re.compile(rf"\b({'|'.join(_KEYS_OF)})\s*\(", re.IGNORECASE)


def with_keys_checked(text: str) -> str:
    """An expression that fails where the keys of a map are null or there twice, before the map is built.

    >>> with_keys_checked("k + 1")
    'k + 1'
    >>> print(with_keys_checked("map(a, 1, b, 2)"))
    CASE WHEN coalesce(forall(array(array(a, b)), _hg_keys -> NOT exists(_hg_keys, _hg_key -> _hg_key IS NULL) AND \
size(array_distinct(_hg_keys)) = size(_hg_keys)), true) THEN map(a, 1, b, 2) ELSE raise_error('the keys of a map') END
    """
    if not _CALL.search(text):
        return text
    root = exp.Paren(this=expression(text))
    calls = [node for node in root.walk() if isinstance(node, exp.Anonymous) and node.name.lower() in _KEYS_OF]
    for call in reversed(calls):  # those within others first
        arguments = [written(argument) for argument in call.expressions]
        if arguments:
            checked = _checked(_KEYS_OF[call.name.lower()](arguments), written(call))
            if len(checked) > LONGEST:
                hint = "let the keys be different and not null, or build fewer maps within maps"
                raise HeadgateError(
                    "the query fails on a row, and its maps are nested too deeply to tell which", hint=hint
                )
            put(call, raw(checked))
    return written(root.this)


def _checked(keys: str, call: str) -> str:
    wanted = f"NOT exists({_KEYS}, {_KEY} -> {_KEY} IS NULL) AND size(array_distinct({_KEYS})) = size({_KEYS})"
    once = f"forall(array({keys}), {_KEYS} -> {wanted})"  # so that the keys are written once
    return f"CASE WHEN coalesce({once}, true) THEN {call} ELSE raise_error('the keys of a map') END"
