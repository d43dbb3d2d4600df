"""The tables of docs/rest.md, from the OpenAPI document of the server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from headgate.server.access.open import OpenAccess
from headgate.server.access.roles import ROLE, TENANTS
from headgate.server.app import create_app
from headgate.server.hosting import EngineHost

METHODS = ("get", "post", "put", "patch", "delete")
ORDER = ("streams", "tables", "queries", "classes", "policy", "insight", "status", "access")


def document() -> dict[str, Any]:
    """The OpenAPI document, of an app whose engine is never started."""

    def never(tell: object) -> Any:
        raise AssertionError("the engine is not needed for its description")

    return create_app(EngineHost(never), OpenAccess()).openapi()


def rest_routes() -> str:
    """Every route: a section for each noun, with what it takes, who may use it and what it answers."""
    found = document()
    tags: dict[str, list[str]] = {}
    for path, operations in found["paths"].items():
        for method in METHODS:
            if method in operations:
                operation = operations[method]
                text = "\n".join(_operation(method, path, operation, found))
                tags.setdefault(operation["tags"][0], []).append(text)
    known = [tag for tag in ORDER if tag in tags] + sorted(set(tags) - set(ORDER))
    return "\n".join(f"## {tag.capitalize()}\n\n" + "\n".join(tags[tag]) for tag in known)


def _operation(method: str, path: str, operation: Mapping[str, Any], whole: Mapping[str, Any]) -> Iterator[str]:
    yield f"### `{method.upper()} {path}`\n"
    yield f"{' '.join(operation.get('description', operation['summary']).split())}\n"
    tenants = "" if operation.get(TENANTS, True) else ", not limited to a tenant"
    yield f"Role: {operation[ROLE]}{tenants}. Answers: {_answers(operation)}.\n"
    rows = [*_parameters(operation), *_body(operation, whole)]
    if rows:
        yield "| field | type | |\n|---|---|---|"
        yield from rows
        yield ""


def _answers(operation: Mapping[str, Any]) -> str:
    good = [status for status in operation["responses"] if status.startswith("2")]
    return ", ".join(sorted(good)) + "; otherwise a problem"


def _parameters(operation: Mapping[str, Any]) -> Iterator[str]:
    for parameter in operation.get("parameters", ()):
        if parameter["in"] != "path":
            where = "header" if parameter["in"] == "header" else "query"
            told = parameter.get("description", "")
            yield f"| `{parameter['name']}` ({where}) | {_type(parameter['schema'])} | {told} |"


def _body(operation: Mapping[str, Any], whole: Mapping[str, Any]) -> Iterator[str]:
    content = operation.get("requestBody", {}).get("content", {})
    for kind, media in content.items():
        schema = media.get("schema", {})
        name = schema.get("$ref", "").rpartition("/")[2]
        if name:
            described = whole["components"]["schemas"][name]
            required = described.get("required", ())
            for field, about in described.get("properties", {}).items():
                needed = "" if field in required else ", may be left out"
                example = f" as `{about['examples'][0]}`" if about.get("examples") else ""
                yield f"| `{field}` | {_type(about)}{needed} | {about.get('description', '')}{example} |"
        else:
            yield f"| body | `{kind}` | |"


def _type(schema: Mapping[str, Any]) -> str:
    if "anyOf" in schema:
        return " or ".join(_type(one) for one in schema["anyOf"] if one.get("type") != "null")
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if "enum" in schema:
        return " or ".join(f"`{value}`" for value in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return str(schema.get("type", "anything"))
