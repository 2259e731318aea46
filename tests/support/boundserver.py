#!/usr/bin/env python3
"""boundserver.py LOG: a Messages service whose thinking blocks are bound to what they followed.

A thinking block is refused with the service's words unless system prompt, tools and every message
before it are those that it was written after, and unless the blocks of the request are an unbroken
run. Blocks of other models are ignored. Prints its port. The last user text chooses the reply:

    call NAME JSON [then ...]   thinking, and a call of the tool; "then" follows its result
    anything else               thinking, and "reply N"

A POST to /off switches the check off, /strip accepts no block at all, /modified neither, in other
words, and /bound switches the check on. LOG gets a line for
each request: status, number of thinking blocks, hash of the tools, hash of the system prompt."""
import base64
import hashlib
import http.server
import json
import sys
import threading

state = {"mode": "bound", "n": 0}
lock = threading.Lock()
log = open(sys.argv[1], "a", buffering=1)


def digest(value):
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def bare(value):
    """Without what does not count: cache marks, thinking blocks."""
    if isinstance(value, dict):
        return {k: bare(v) for k, v in value.items() if k != "cache_control"}
    if isinstance(value, list):
        return [bare(v) for v in value
                if not (isinstance(v, dict) and v.get("type") in ("thinking", "redacted_thinking"))]
    return value


def blocks(message):
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def prefix(body, n):
    messages = [{"role": m["role"], "content": bare(blocks(m))} for m in body["messages"][:n]]
    return digest([bare(body.get("system")), bare(body.get("tools")), messages])


def sign(body, model, before):
    proof = {"p": prefix(body, len(body["messages"])), "m": model, "prev": before, "id": state["n"]}
    return base64.b64encode(json.dumps(proof).encode()).decode()


def check(body):
    """The complaint, and the id of the last block."""
    last = None
    for i, m in enumerate(body["messages"]):
        for k, b in enumerate(blocks(m)):
            if b.get("type") != "thinking":
                continue
            at = "messages.%d.content.%d" % (i, k)
            if state["mode"] == "strip":
                return "%s: Invalid `signature` in `thinking` block" % at, None
            if state["mode"] == "modified":
                return "%s: thinking or redacted_thinking blocks in the latest assistant message cannot be modified." % at, None
            proof = json.loads(base64.b64decode(b["signature"]))
            if proof["m"] != body["model"]:
                continue
            broken = last is not None and proof["prev"] != last
            if state["mode"] == "bound" and (broken or proof["p"] != prefix(body, i)):
                return ("%s: Invalid `signature` in `thinking` block. The block is bound to a different conversation. "
                        "Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\"." % at), None
            last = proof["id"]
    return None, last


def wanted(body):
    """The user's words that are not done yet."""
    words, done = "", 0
    for m in body["messages"]:
        for b in blocks(m):
            if m["role"] == "user" and b.get("type") == "text":
                found = [line for line in b["text"].split("\n") if line.startswith("call ")]
                words, done = (found[0] if found else "talk"), 0
            done += b.get("type") == "tool_result"
    steps = words.split(" then ")
    return steps[done] if done < len(steps) else "talk"


def reply(body, last):
    step = wanted(body)
    content = [{"type": "thinking", "thinking": "hm", "signature": sign(body, body["model"], last)}]
    if step.startswith("call "):
        _, name, arguments = step.split(" ", 2)
        content.append({"type": "tool_use", "id": "toolu_%d" % state["n"], "name": name, "input": json.loads(arguments)})
    else:
        content.append({"type": "text", "text": "reply %d" % state["n"]})
    return content


def events(body, content):
    calls = content[-1]["type"] == "tool_use"
    size = len(json.dumps(body)) // 4
    usage = {"input_tokens": size, "output_tokens": 5}
    yield {"type": "message_start", "message": {"id": "msg_%d" % state["n"], "type": "message", "role": "assistant", "model": body["model"],
                                                "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}}
    for i, b in enumerate(content):
        if b["type"] == "thinking":
            yield {"type": "content_block_start", "index": i, "content_block": {"type": "thinking", "thinking": "", "signature": ""}}
            yield {"type": "content_block_delta", "index": i, "delta": {"type": "thinking_delta", "thinking": b["thinking"]}}
            yield {"type": "content_block_delta", "index": i, "delta": {"type": "signature_delta", "signature": b["signature"]}}
        elif b["type"] == "text":
            yield {"type": "content_block_start", "index": i, "content_block": {"type": "text", "text": ""}}
            yield {"type": "content_block_delta", "index": i, "delta": {"type": "text_delta", "text": b["text"]}}
        else:
            yield {"type": "content_block_start", "index": i, "content_block": {**b, "input": {}}}
            yield {"type": "content_block_delta", "index": i, "delta": {"type": "input_json_delta", "partial_json": json.dumps(b["input"])}}
        yield {"type": "content_block_stop", "index": i}
    yield {"type": "message_delta", "delta": {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None}, "usage": usage}
    yield {"type": "message_stop"}


class Service(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, kind, data):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_POST(self):
        data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path in ("/off", "/strip", "/modified", "/bound"):
            state["mode"] = self.path[1:]
            self.answer(200, "text/plain", b"")
            return
        body = json.loads(data)
        with lock:
            state["n"] += 1
            complaint, last = check(body)
            held = sum(b.get("type") == "thinking" for m in body["messages"] for b in blocks(m))
            log.write("%d %d %s %s\n" % (400 if complaint else 200, held, digest(bare(body.get("tools"))), digest(bare(body.get("system")))))
            if complaint:
                error = {"type": "error", "error": {"type": "invalid_request_error", "message": complaint}}
                self.answer(400, "application/json", json.dumps(error).encode())
                return
            content = reply(body, last)
            lines = "".join("event: %s\ndata: %s\n\n" % (e["type"], json.dumps(e)) for e in events(body, content))
        self.answer(200, "text/event-stream", lines.encode())


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Service)
print(server.server_address[1], flush=True)
server.serve_forever()
