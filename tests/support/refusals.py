#!/usr/bin/env python3
"""refusals.py GATEWAY TOKEN: requests that a session refuses, over two connections.

The first connection holds the sessions. With several workers, the second connection belongs to
another worker. Prints a line for each request: its name, the status and the body."""
import http.client
import json
import sys
import time

address, token = sys.argv[1].split("//")[1], sys.argv[2]
AUTH = {"Authorization": "Bearer " + token, "Content-Type": "application/json"}


def ask(connection, method, path, body=None, **headers):
    connection.request(method, path, json.dumps(body) if body is not None else None, {**AUTH, **headers})
    answer = connection.getresponse()
    return answer.status, answer.read().decode().strip().replace("\n", "|")


def connect():
    """Connections to as many workers as there are, at most two, by their processes."""
    found = {}
    for _ in range(100):
        c = http.client.HTTPConnection(address, timeout=15)
        pid = json.loads(ask(c, "GET", "/api/nodes")[1])["pid"]
        found.setdefault(pid, c)
        if len(found) == 2:
            break
    return list(found.values())


all_of = connect()
here, there = all_of[0], all_of[-1]
print("workers", len(all_of))


def status_is(key, want):
    """Waits for the status. A session is idle before its first run, too."""
    for _ in range(300):
        session = json.loads(ask(here, "GET", "/api/sessions/" + key)[1])
        if session.get("status") == want and (want != "idle" or session.get("turns")):
            return
        time.sleep(0.02)


CALLS = {"role": "assistant", "tool_calls": [{"id": "none", "type": "function", "function": {"name": "ask", "arguments": "{}"}}]}
RESULT = {"role": "tool", "tool_call_id": "none", "content": "x"}
USER = {"role": "user", "content": "more"}
UI = {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "more"}]}
UI_RESULT = {"id": "m2", "role": "assistant", "parts": [{"type": "tool-note", "toolCallId": "none", "state": "output-available", "input": {}, "output": "x"}]}


def requests(key):
    own = {"X-Chela-Session": key}
    chat, messages = "/v1/chat/completions", "/api/sessions/" + key + "/messages"
    yield "chat", chat, {"model": "coder", "messages": [USER]}, own
    yield "chat-stream", chat, {"model": "coder", "stream": True, "messages": [USER]}, own
    yield "results", chat, {"model": "coder", "messages": [USER, CALLS, RESULT]}, own
    yield "anthropic", "/v1/messages", {"model": "coder", "max_tokens": 9, "messages": [USER]}, own
    yield "responses", "/v1/responses", {"model": "coder", "input": "more"}, own
    yield "ui", "/api/chat", {"id": key, "messages": [UI]}, {}
    yield "ui-result", "/api/chat", {"id": key, "messages": [UI, UI_RESULT]}, {}
    yield "message", messages, {"text": "more", "mode": "run", "stream": True}, {}
    yield "session-results", messages, {"results": [{"id": "none", "content": "x"}], "stream": True}, {}
    yield "resume", messages, {"resume": True, "stream": True}, {}
    yield "take-over", messages, {"mode": "take_over", "text": "x", "stream": True}, {}
    yield "plain-results", messages, {"results": [{"id": "none", "content": "x"}]}, {}
    yield "plain-resume", messages, {"resume": True}, {}
    yield "plain-take-over", messages, {"mode": "take_over", "text": "x"}, {}
    yield "decision", "/api/approvals/OF", {"decision": "edit", "arguments": "no JSON"}, {}


skip = {"long": ("chat", "chat-stream", "anthropic", "responses", "ui", "resume", "take-over", "plain-resume", "plain-take-over", "decision"),
        "done": ("chat", "chat-stream", "anthropic", "responses", "ui", "message", "decision"),  # these wait or act
        "pause": ("take-over", "plain-take-over")}
for text, state in (("pause", "paused"), ("done", "idle"), ("long", "running")):
    for name, path, body, headers in requests("KEY"):
        if name in skip[text]:
            continue
        key = f"{text}-{name}"
        headers = {k: key for k in headers}
        path = path.replace("KEY", key)
        if "id" in body:
            body["id"] = key
        ask(here, "POST", f"/api/sessions/{key}/messages", {"text": text})
        status_is(key, state)
        if name == "decision":
            path = path.replace("OF", json.loads(ask(here, "GET", "/api/sessions/" + key)[1])["waiting"][0]["approval_id"])
        try:
            print(key, *ask(there, "POST", path, body, **headers))
        except OSError as e:
            print(key, type(e).__name__)
            there.close()
            there = connect()[-1]
