#!/usr/bin/env python3
"""A service of OpenAI's Responses over HTTP and over a WebSocket.

    wireserver.py LOG     prints "port N"; LOG gets a JSON line for each connection and request

The first segment of the path decides: good answers over both; long does after four rounds of calls,
edited after seven;
plain refuses the upgrade; dies ends each WebSocket before an event; cut ends the first one in the
middle of a reply, always_cut each one; worn refuses the first request of each connection because of
its age; busy fails the first request with 429; binary, flood, huge, text and bits break the protocol
or its limits; words says what is not JSON; stray says more than it is asked; disorder sends the
events of a call in a wrong order; mute never answers; keys accepts one of two keys.

Each connection holds the last reply, as the vendor's does, with all that it followed:
`previous_response_id` continues it, and any other one is refused; an error lets go of it. forgets
holds nothing; fails says so in a reply that has begun; stateless refuses `previous_response_id`. The
log has what a request amounts to as `context`. A call without a result, or a result without a call,
is refused. A request calls the tool `ls` until there are results enough. As the vendor does, the
service refuses `stream` and `background` over a WebSocket and a request without a key."""
import base64
import contextlib
import hashlib
import http.server
import json
import struct
import sys
import threading

log = open(sys.argv[1], "a", buffering=1)
lock = threading.Lock()
counts = {}
USAGE = {"input_tokens": 7, "output_tokens": 3, "total_tokens": 10}


def note(**line):
    with lock:
        log.write(json.dumps(line) + "\n")


def count(key):
    with lock:
        counts[key] = counts.get(key, 0) + 1
        return counts[key]


def answer(kind, body, context):
    """The events of a reply."""
    done = [i for i in context if i.get("type") == "function_call_output"]
    count("replies")
    n = counts["replies"]
    if len(done) >= {"long": 4, "forgets": 4, "fails": 4, "stateless": 4, "edited": 7}.get(kind, 1) or not body.get("tools"):
        words = "Hello world."
        item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": words, "annotations": []}]}
        piece = {"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0, "content_index": 0}
        deltas = [{**piece, "delta": "Hello "}, {**piece, "delta": "world."}]
    else:
        arguments = '{ "path": "many" }' if kind == "edited" else "{ }"
        item = {"type": "function_call", "id": f"fc_{n}", "call_id": f"call_{n}", "name": "ls", "arguments": arguments, "status": "completed"}
        deltas = [{"type": "response.function_call_arguments.delta", "item_id": f"fc_{n}", "output_index": 0, "delta": arguments}]
    empty = {**item, "status": "in_progress", **({"content": []} if "content" in item else {"arguments": ""})}
    whole = {"id": f"resp_{n}", "object": "response", "status": "completed", "model": "m", "output": [item], "usage": USAGE, "error": None}
    return [{"type": "response.created", "response": {**whole, "status": "in_progress", "output": [], "usage": None}},
            {"type": "response.output_item.added", "output_index": 0, "item": empty}, *deltas,
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": whole}]


def unpaired(context):
    calls = [i["call_id"] for i in context if i.get("type") == "function_call"]
    results = [i["call_id"] for i in context if i.get("type") == "function_call_output"]
    return sorted(calls) != sorted(results) or len(set(calls)) != len(calls)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def refuse(self, status, text):
        data = json.dumps({"error": {"message": text, "type": "invalid_request_error"}}).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_POST(self):
        kind = self.path.split("/")[1]
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        note(by="http", kind=kind, body=body, context=body["input"])
        if body.get("stream") is not True:
            self.refuse(400, "a stream was expected")
            return
        data = "".join(f"data: {json.dumps(e)}\n\n" for e in answer(kind, body, body["input"])).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    # --- WebSocket

    def frame(self, payload, kind=1):
        n = len(payload)
        head = bytes([0x80 | kind]) + (bytes([n]) if n < 126 else bytes([126]) + struct.pack(">H", n) if n < 65536
                                       else bytes([127]) + struct.pack(">Q", n))
        self.wfile.write(head + payload)
        self.wfile.flush()

    def say(self, event):
        self.frame(json.dumps(event, indent=1 if "good" in self.path else None).encode())

    def read_frame(self):
        head = self.rfile.read(2)
        if len(head) < 2:
            return 8, b""
        n = head[1] & 127
        if n == 126:
            n = struct.unpack(">H", self.rfile.read(2))[0]
        elif n == 127:
            n = struct.unpack(">Q", self.rfile.read(8))[0]
        assert head[1] & 128, "a client masks"
        mask = self.rfile.read(4)
        data = self.rfile.read(n)
        return head[0] & 15, bytes(b ^ mask[i % 4] for i, b in enumerate(data)) if n < 300000 else self.unmask(data, mask)

    @staticmethod
    def unmask(data, mask):
        long = (mask * (len(data) // 4 + 1))[:len(data)]
        return (int.from_bytes(data, "big") ^ int.from_bytes(long, "big")).to_bytes(len(data), "big")

    def do_GET(self):
        kind = self.path.split("/")[1]
        upgrade = self.headers.get("Upgrade", "").lower() == "websocket"
        note(by="upgrade", kind=kind, path=self.path, authorization=self.headers.get("Authorization", "")[:7],
             extra=self.headers.get("X-Extra"))
        self.close_connection = True
        if not upgrade or not self.headers.get("Authorization", "").startswith("Bearer "):
            self.refuse(401, "You didn't provide an API key.")
            return
        if kind == "plain":
            self.refuse(426, "no WebSockets here")
            return
        accept = base64.b64encode(hashlib.sha1((self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest())
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", accept.decode())
        self.end_headers()
        connection = count(kind)
        requests = 0
        self.held, self.items = None, []
        while True:
            opcode, data = self.read_frame()
            if opcode == 8:
                return
            if opcode != 1:
                continue
            requests += 1
            body = json.loads(data)
            previous = body.get("previous_response_id")
            context = (self.items if previous else []) + body["input"]
            note(by="socket", kind=kind, connection=connection, key=self.headers["Authorization"], body=body, context=context,
                 held=previous is None or previous == self.held)
            if not self.serve(kind, connection, requests, body, context):
                return

    def fail(self, message, status=400, **more):
        self.held = None
        self.say({"type": "error", "status": status, **more.pop("outside", {}),
                  "error": {"message": message, "type": "invalid_request_error", **more}})
        return True

    def serve(self, kind, connection, requests, body, context):
        previous = body.get("previous_response_id")
        if body.pop("type", "") != "response.create" or "stream" in body or "background" in body:
            return self.fail("Unknown parameter.")
        if kind == "dies":
            return False
        if kind == "mute":
            self.rfile.read(1)
            return False
        if kind == "keys" and self.headers["Authorization"] != "Bearer C.UTF-8":
            return self.fail("Incorrect API key provided.", 401)
        if kind == "worn" and requests > 1:
            return self.fail("This connection is 60 minutes old.", code="websocket_connection_limit_reached")
        if kind == "busy" and count("busy asked") == 1:
            return self.fail("Slow down.", 429, outside={"headers": {"Retry-After": "1"}}, code="rate_limit_exceeded")
        if kind == "stateless" and previous:
            return self.fail("Unsupported parameter: previous_response_id.")
        if kind == "fails" and previous:
            self.say({"type": "response.created", "response": {"id": "resp_x", "object": "response", "status": "in_progress", "output": []}})
        if previous and (kind in ("forgets", "fails") or previous != self.held):
            return self.fail(f"Previous response with id '{previous}' not found.", code="previous_response_not_found")
        if unpaired(context):
            return self.fail("No tool output found for function call.")
        events = answer(kind, body, context)
        if kind == "always_cut" or (kind in ("cut", "binary", "flood", "huge", "text", "bits", "words") and connection == 1):
            for e in events[:3]:
                self.say(e)
            if kind == "binary":
                self.frame(b"\0\1", 2)
            if kind == "text":
                self.frame(b'{"type": "\xff"}')
            if kind == "bits":
                self.wfile.write(b"\xf7\xff\0\0\0\0")
            if kind == "words":
                self.frame(b"Sorry, the service is restarting")
                self.frame(b"[]")
            if kind == "flood":
                with contextlib.suppress(OSError):
                    for _ in range(5000):
                        self.wfile.write(b"\x01\x01a\x80\x01a"[:3])
            if kind == "huge":
                self.wfile.write(bytes([0x81, 127]) + struct.pack(">Q", 1 << 40))
            self.wfile.flush()
            return False
        if kind == "stray":
            for _ in range(3):
                self.frame(b"", 9)
        whole = events[-1]["response"]
        if kind == "disorder" and whole["output"][0]["type"] == "function_call":
            events = [events[3], events[2], events[1], events[0], events[3], events[4]]
        for e in events:
            self.say(e)
        self.held, self.items = whole["id"], context + whole["output"]
        if kind == "stray":
            for _ in range(100):
                self.say({"type": "response.in_progress"})
        return True


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
print(f"port {server.server_port}", flush=True)
server.serve_forever()
