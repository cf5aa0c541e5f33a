#!/usr/bin/env python3
"""A small MCP server on pipes with one tool, for the scenarios."""

import json
import os
import sys

TOOL = {
    "name": "find",
    "description": "tells on which shelf a word is",
    "inputSchema": {"type": "object", "properties": {"word": {"type": "string"}}},
}


def answer(method, params):
    """The result for one request; None for a method that is not known."""
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "lookup", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        shelf = os.environ.get("LOOKUP_SHELF", "no")
        text = f"{params['arguments']['word']} is on the {shelf} shelf"
        with open("/home/agent/looked-up", "a") as log:
            log.write(text + "\n")
        return {"content": [{"type": "text", "text": text}]}
    return None


for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    result = answer(request["method"], request.get("params", {}))
    reply = {"jsonrpc": "2.0", "id": request["id"]}
    if result is None:
        reply["error"] = {"code": -32601, "message": "method not found"}
    else:
        reply["result"] = result
    print(json.dumps(reply), flush=True)
