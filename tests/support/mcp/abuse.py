#!/usr/bin/env python3
"""A client that abuses an MCP server over HTTP. usage: abuse.py PORT

Prints a line "ok NAME" or "not ok NAME: WHY" for each abuse. After each, an honest client must be
served.
"""
import http.client
import json
import socket
import sys

port = int(sys.argv[1])
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
HEAD = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


def request(body, headers=None, method="POST"):
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    c.request(method, "/mcp", body, {**HEAD, **(headers or {})})
    r = c.getresponse()
    return r.status, r.read(), r.headers, c.close()


def modern(method, params=None, headers=None):
    params = {**(params or {}), "_meta": META}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    head = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, **({"Mcp-Name": params["name"]} if "name" in params else {})}
    return request(body, {**head, **(headers or {})})


def initialize():
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}})
    status, text, headers, _ = request(body)
    return status, headers.get("Mcp-Session-Id")


def raw(data):
    s = socket.create_connection(("127.0.0.1", port), timeout=60)
    s.sendall(data)
    return s


def honest():
    status, text, _, _ = modern("tools/call", {"name": "test_simple_text", "arguments": {}})
    return status == 200 and b"simple text" in text


def case(fn):
    try:
        why = fn()
        if not why and not honest():
            why = "an honest client is not served"
    except Exception as e:  # the server went away, or did not answer
        why = repr(e)
    print(("not ok %s: %s" % (fn.__doc__, why)) if why else "ok " + fn.__doc__, flush=True)


def slow_heads():
    "clients that never finish their head"
    sockets = [raw(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-") for _ in range(60)]
    served = honest()
    for s in sockets:
        s.close()
    return "" if served else "not served meanwhile"


def slow_readers():
    "clients that listen and never read"
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": {"notifications": {"toolsListChanged": True}, "_meta": META}}).encode()
    head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\nContent-Length: %d\r\n\r\n" % len(body)
    sockets = [raw(head.encode() + body) for _ in range(20)]
    for _ in range(300):
        if modern("tools/call", {"name": "test_trigger_tool_change", "arguments": {}})[0] != 200:
            return "a call failed"
    for s in sockets:
        s.close()


def leavers():
    "clients that leave in the middle of a call"
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "test_tool_with_progress", "arguments": {}, "_meta": {**META, "progressToken": 1}}}).encode()
    head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: test_tool_with_progress\r\nContent-Length: %d\r\n\r\n" % len(body)
    for _ in range(50):
        raw(head.encode() + body).close()


def many_sessions():
    "more sessions than the server keeps"
    statuses = [initialize()[0] for _ in range(1100)]
    return "" if set(statuses) <= {200, 429, 503} else str(set(statuses))


def strange_sessions():
    "ids of sessions that nobody has"
    for sid in ("nobody", "x" * 5000, "%00", "../..", "\x7f"):
        status = request('{"jsonrpc":"2.0","id":1,"method":"tools/list"}', {"Mcp-Session-Id": sid})[0]
        if status not in (400, 404, 431):
            return "%r: %d" % (sid[:10], status)
    status, sid = initialize()
    if sid:
        gone = [request(None, {"Mcp-Session-Id": sid}, "DELETE")[0] for _ in range(2)]
        if gone[0] not in (200, 204) or gone[1] != 404:
            return "DELETE: %s" % gone


def bad_bodies():
    "bodies that are no message"
    deep = '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":' + '{"a":' * 5000 + "1" + "}" * 5000 + "}"
    for body in (b"", b"\xff\xfe", b"[]", b"null", b"{", b'{"jsonrpc":"1.0"}', b'{"jsonrpc":"2.0","id":{},"method":"ping"}', deep.encode()):
        status = request(body)[0]
        if not 400 <= status < 500:
            return "%r: %d" % (body[:20], status)


def large_body():
    "a body of 100 MB"
    s = raw(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100000000\r\n\r\n")
    try:
        for _ in range(100):
            s.sendall(b"x" * 1000000)
        answer = s.recv(100)
    except OSError:
        return ""  # the server closed the connection
    return "" if b" 413 " in answer or b" 400 " in answer or not answer else repr(answer)


def mixed_headers():
    "headers that contradict the body"
    for headers in ({"Mcp-Method": "tools/list"}, {"Mcp-Name": "other"}, {"MCP-Protocol-Version": "2025-11-25"}, {"Mcp-Name": "=?base64?!!!?="}):
        status, text, _, _ = modern("tools/call", {"name": "test_simple_text", "arguments": {}}, headers)
        if status != 400:
            return "%s: %d" % (headers, status)


for fn in (slow_heads, slow_readers, leavers, many_sessions, strange_sessions, bad_bodies, large_body, mixed_headers):
    case(fn)
