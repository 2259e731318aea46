#!/usr/bin/env python3
"""An MCP server on standard input and output with many tools.

many.py NAME N: the tools NAME_1 .. NAME_N, each with a description and a schema of some length.
A call returns the name of the tool and its argument `place`.
"""
import json
import sys

name, n = sys.argv[1], int(sys.argv[2])


def tool(i):
    place = {"type": "string", "description": "The place that is meant, as a name or an address"}
    days = {"type": "integer", "minimum": 1, "maximum": 14, "description": "How many days ahead"}
    return {
        "name": "%s_%d" % (name, i),
        "description": "Look up the %s of kind k%d for a place, for as many days as are wanted." % (name, i),
        "inputSchema": {"type": "object", "properties": {"place": place, "days": days}, "required": ["place"]},
        "annotations": {"readOnlyHint": True},
    }


def answer(request):
    method, params = request["method"], request.get("params", {})
    if method == "initialize":
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": name, "version": "1"}}
    if method == "tools/list":
        return {"tools": [tool(i) for i in range(1, n + 1)]}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": "%s of %s" % (params["name"], params["arguments"]["place"])}]}
    return None


for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    result = answer(request)
    reply = {"result": result} if result else {"error": {"code": -32601, "message": "Method not found"}}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **reply}), flush=True)
