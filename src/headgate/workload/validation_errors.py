"""Validation errors of pydantic as one line: where, what is wrong, what to do."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from headgate.model import HeadgateError, unknown
from headgate.model.values import as_text
from headgate.workload.file_locations import FileLocations
from headgate.workload.problems import Problems
from headgate.workload.schema import File, keys_of

_WANTED = {
    "string_type": ("text", "put it in quotes"),
    "int_type": ("a whole number", "write it without quotes and without a point"),
    "int_from_float": ("a whole number", "write it without a point"),
    "float_type": ("a number", "write it without quotes"),
    "bool_type": ("true or false", "write it without quotes"),
    "list_type": ("a list", "write it in brackets"),
    "dict_type": ("a table", 'write for example { cost = "5us" }'),
    "finite_number": ("a finite number", "write a number"),
}
_BOUNDS = {
    "greater_than": ("more than", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than": ("less than", "lt"),
    "less_than_equal": ("at most", "le"),
}
_EXAMPLES = {"name": 'name = "…"', "at": 'at = "5 s"'}


def validated(data: dict[str, Any], locations: FileLocations, problems: Problems) -> File:
    """The file's content, or an error: unknown keys first, since a misspelt key is also a missing one."""
    try:
        return File.model_validate(data)
    except ValidationError as invalid:
        details = invalid.errors(include_url=False)
        details.sort(key=lambda detail: (detail["type"] != "extra_forbidden", locations.line(detail["loc"])))
        misspelt = {detail["loc"][:-1] for detail in details if detail["type"] == "extra_forbidden"}
        for detail in details if problems.keep else ():
            if detail["type"] != "missing" or detail["loc"][:-1] not in misspelt:
                problems.note(_complaint(detail, locations))
        raise _complaint(details[0], locations) from None


def _complaint(detail: ErrorDetails, locations: FileLocations) -> HeadgateError:
    loc, kind = detail["loc"], detail["type"]
    if kind == "extra_forbidden":
        what = "table" if len(loc) == 1 else "key"
        return unknown(what, str(loc[-1]), keys_of(loc[0] if len(loc) > 1 else None)).at(
            locations.where(*loc, label=loc[:-1])
        )
    if kind == "missing":
        hint = f"write {_EXAMPLES.get(str(loc[-1]), f'{loc[-1]} = …')}"
        return HeadgateError(f"{loc[-1]} is missing", hint=hint, where=locations.where(*loc, label=loc[:-1]))
    if len(loc) <= 2 and kind in ("list_type", "model_type", "model_attributes_type"):
        return _not_a_table(detail, locations)
    message, hint = _message_and_hint(detail)
    return HeadgateError(message, hint=hint, where=locations.where(*loc))


def _not_a_table(detail: ErrorDetails, locations: FileLocations) -> HeadgateError:
    table = str(detail["loc"][0])
    head = "[workload]" if table == "workload" else f"[[{table}]]"
    where = locations.where(*detail["loc"], label=())
    return HeadgateError(f"'{table}' must be written as {head}, found {as_text(detail['input'])}", where=where)


def _message_and_hint(detail: ErrorDetails) -> tuple[str, str]:
    kind, context = detail["type"], detail.get("ctx", {})
    if kind == "headgate":
        return str(context["message"]), str(context["hint"])
    if kind in _WANTED:
        wanted, hint = _WANTED[kind]
        return f"must be {wanted}, found {as_text(detail['input'])}", hint
    if kind in _BOUNDS:
        word, key = _BOUNDS[kind]
        return f"must be {word} {context[key]:g}, found {as_text(detail['input'])}", f"correct {detail['loc'][-1]}"
    return f"{detail['msg'][:1].lower()}{detail['msg'][1:]}, found {as_text(detail['input'])}", "correct it"
