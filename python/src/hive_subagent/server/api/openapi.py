"""`/api/v1/openapi.json`: OpenAPI 3.1, made of the routes and the pydantic models that they use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from hive_subagent import __version__
from hive_subagent.models import events
from hive_subagent.models.notices import RunEvent
from hive_subagent.server.api.endpoints import Endpoint
from hive_subagent.server.api.errors import STATUS, ApiError

PATH = "/openapi.json"

EVENTS: Sequence[type[BaseModel]] = (
    events.StreamOpened,
    events.Gap,
    RunEvent,
    events.TurnBegan,
    events.BackgroundChanged,
    events.InterventionChanged,
    events.NoticeChanged,
)
"""What stands in the `data` of a server-sent event."""

_REFERENCE = "#/components/schemas/{model}"


def describe(endpoints: Sequence[Endpoint[Any]], *, prefix: str) -> dict[str, Any]:
    """The description of these routes, of the events, and of itself."""
    models: list[tuple[type[BaseModel], JsonSchemaMode]] = [
        (model, "serialization")
        for model in _once([*(each.gives for each in endpoints), *EVENTS, ApiError])
    ]
    models += [
        (model, "validation")
        for model in _once([each.takes for each in endpoints if each.method == "POST"])
    ]
    named, definitions = models_json_schema(models, ref_template=_REFERENCE)
    schemas: dict[str, Any] = definitions.get("$defs", {})
    of_model = {
        model: schema for (model, _), schema in named.items() if issubclass(model, BaseModel)
    }
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(
            endpoint, of_model, schemas
        )
    data = {"oneOf": [of_model[model] for model in EVENTS]}
    paths["/events"] = {"get": _events(data)}
    paths[PATH] = {
        "get": {
            "operationId": "getOpenapi",
            "summary": "This description",
            "responses": {"200": _json({"type": "object"}, "OpenAPI 3.1")},
        }
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "hive-subagent operator API",
            "version": __version__,
            "description": "Served at the operator socket, and at the port with the owner's token.",
        },
        "servers": [{"url": prefix}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"owner": {"type": "http", "scheme": "bearer"}},
        },
        # at the socket none is asked for
        "security": [{}, {"owner": []}],
    }


def _once(models: Sequence[type[BaseModel]]) -> list[type[BaseModel]]:
    return list(dict.fromkeys(models))


def _operation(
    endpoint: Endpoint[Any], of_model: dict[type[BaseModel], Any], schemas: dict[str, Any]
) -> dict[str, Any]:
    error = of_model[ApiError]
    about: dict[str, Any] = {
        "operationId": _operation_id(endpoint),
        "summary": endpoint.summary,
        "responses": {
            "200": _json(_with_text(of_model[endpoint.gives], endpoint), "done"),
            **{
                str(status): _json(error, kind)
                for kind, status in sorted(STATUS.items(), key=lambda item: item[1])
            },
            "default": _json(error, "no success"),
        },
    }
    fields = endpoint.takes.model_fields
    inside = endpoint.in_path if endpoint.method == "POST" else fields
    if parameters := [
        _parameter(name, fields[name], in_path=name in endpoint.in_path, takes=endpoint.takes)
        for name in inside
    ]:
        about["parameters"] = parameters
    if endpoint.method == "POST":
        schema = _resolved(of_model[endpoint.takes], schemas)
        body = _without(schema, endpoint.in_path)
        about["requestBody"] = {
            "required": bool(body.get("required")),
            "content": {"application/json": {"schema": body}},
        }
    return about


def _parameter(
    name: str, field: FieldInfo, *, in_path: bool, takes: type[BaseModel]
) -> dict[str, Any]:
    schema = dict(takes.model_json_schema()["properties"][name])
    schema.pop("title", None)
    description = schema.pop("description", None)
    return {
        "name": name,
        "in": "path" if in_path else "query",
        "required": in_path or field.is_required(),
        "schema": schema,
        **({"description": description} if description else {}),
    }


def _resolved(schema: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = schemas[schema["$ref"].rpartition("/")[2]]
    return found


def _without(schema: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """A schema of an object, without what stands in the path."""
    kept = {name: part for name, part in schema["properties"].items() if name not in names}
    required = [name for name in schema.get("required", []) if name not in names]
    return {
        "type": "object",
        "properties": kept,
        "additionalProperties": False,
        **({"required": required} if required else {}),
    }


def _with_text(schema: dict[str, Any], endpoint: Endpoint[Any]) -> dict[str, Any]:
    if not endpoint.has_text:
        return schema
    text = {"type": "string", "description": "the tool's answer for a model"}
    return {"allOf": [schema, {"properties": {"text": text}, "required": ["text"]}]}


def _json(schema: dict[str, Any], description: str) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def _events(data: dict[str, Any]) -> dict[str, Any]:
    header = {
        "in": "header",
        "name": "Last-Event-ID",
        "schema": {"type": "string"},
        "description": "go on behind this event; what cannot be replayed is declared as a gap",
    }
    query = {**header, "in": "query", "name": "last-event-id"}
    stream = {"schema": {"type": "string"}, "x-data": data}
    return {
        "operationId": "getEvents",
        "summary": "What happens, as server-sent events; x-data is the schema of their data",
        "parameters": [header, query],
        "responses": {"200": {"description": "a stream", "content": {"text/event-stream": stream}}},
    }


def _operation_id(endpoint: Endpoint[Any]) -> str:
    """Such as `postSessionsNameContinue`."""
    words = endpoint.path.replace("{", "").replace("}", "").strip("/").split("/")
    return endpoint.method.lower() + "".join(word.capitalize() for word in words)
