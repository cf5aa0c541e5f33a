"""The API's description: whole, valid, and true of what is answered (issue 13, 1)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import jsonschema
import pytest
from support import api
from support.daemon import Daemon
from support.stub import script, text

from hive_subagent.server.api.app import PREFIX
from hive_subagent.server.api.openapi import describe
from hive_subagent.server.api.routes import Services, endpoints

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "api.md"
# asks nothing of what the routes call
ROUTES = endpoints(cast(Services, SimpleNamespace(sessions=None)))
DESCRIPTION = describe(ROUTES, prefix=PREFIX)


def every(value: Any) -> Iterator[dict[str, Any]]:
    """Each object in a JSON value."""
    if isinstance(value, dict):
        yield value
        for part in value.values():
            yield from every(part)
    elif isinstance(value, list):
        for part in value:
            yield from every(part)


def operations() -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (path, method, operation)
        for path, of_path in DESCRIPTION["paths"].items()
        for method, operation in of_path.items()
    ]


def test_every_route_and_method_is_in_it_and_on_the_page() -> None:
    """Issue 13, 1."""
    described = {(method.upper(), path) for path, method, _ in operations()}
    own = {("GET", "/events"), ("GET", "/openapi.json")}
    assert described == {(route.method, route.path) for route in ROUTES} | own
    page = PAGE.read_text()
    for method, path in described:
        assert f"`{method} {path}`" in page, (method, path)


def test_it_is_openapi_of_which_every_reference_leads_somewhere() -> None:
    """Issue 13, 1."""
    assert DESCRIPTION["openapi"] == "3.1.0"
    assert {"title", "version"} <= set(DESCRIPTION["info"])
    schemas = DESCRIPTION["components"]["schemas"]
    for found in every(DESCRIPTION):
        if isinstance(reference := found.get("$ref"), str):
            assert reference.removeprefix("#/components/schemas/") in schemas
    for schema in schemas.values():
        jsonschema.Draft202012Validator.check_schema(schema)
    ids = [operation["operationId"] for _, _, operation in operations()]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize(("path", "method", "operation"), operations())
def test_each_operation_has_what_openapi_asks_for(
    path: str, method: str, operation: dict[str, Any]
) -> None:
    """Issue 13, 1."""
    assert operation["summary"]
    assert "200" in operation["responses"]
    for response in operation["responses"].values():
        assert response["description"]
    parameters = operation.get("parameters", [])
    for parameter in parameters:
        assert parameter["in"] in ("path", "query", "header")
        jsonschema.Draft202012Validator.check_schema(parameter["schema"])
    in_path = {one["name"] for one in parameters if one["in"] == "path"}
    assert in_path == {part[1:-1] for part in path.split("/") if part.startswith("{")}
    assert all(one["required"] for one in parameters if one["in"] == "path")
    assert ("requestBody" in operation) == (method == "post")


async def test_what_is_answered_is_as_described(daemon: Daemon) -> None:
    """Issue 13, 1: the answers of a real daemon, against the schemas."""
    called = api.client(daemon.runtime_dir)
    description = called.get("/openapi.json")
    assert description == json.loads(json.dumps(DESCRIPTION))
    name = daemon.name()
    answers = [
        ("/sessions", "post", called.post("/sessions", name=name, prompt=script(text("x")))),
        ("/sessions/{name}/wait", "post", called.post(f"/sessions/{name}/wait")),
        ("/sessions/{name}", "get", called.get(f"/sessions/{name}")),
        ("/sessions/{name}/output", "get", called.get(f"/sessions/{name}/output")),
    ]
    await daemon.notice(name)
    others = ("/sessions", "/delegations", "/notices", "/doctor")
    answers += [(path, "get", called.get(path)) for path in others]
    for path, method, answer in answers:
        response = description["paths"][path][method]["responses"]["200"]
        check(description, response, answer)
    _, error = called.refused("GET", "/sessions/unheard-of")
    response = description["paths"]["/sessions/{name}"]["get"]["responses"]["404"]
    check(description, response, {"error": error})


def check(description: dict[str, Any], response: dict[str, Any], answer: Any) -> None:
    schema = response["content"]["application/json"]["schema"]
    whole = {**schema, "components": description["components"]}
    jsonschema.Draft202012Validator(whole).validate(answer)
