#!/usr/bin/env python3
"""A service of OpenAI's Responses, or of Google's Interactions, that makes its replies in the background.

    jobserver.py LOG     prints "port N"; LOG gets a line "METHOD PATH" for each request

The first segment of the path decides: body, stream and cut end well; failed, gone and down do
not; never goes on for ever. A GET in `body` answers in_progress, 503, in_progress, completed.
asked, slow, rest and whole take only requests that ask for the background, as the vendor does, and
let the reply be deleted; slow is done once the file LOG.go is there; rest streams what follows a
cursor; whole does not. expired never begins its jobs; its second one ends well in expired_once.
queued never begins, and is not over. late_gone and late_expired are as slow until the file is there;
the first has no reply then, and the first job of the second had expired."""
import http.server
import json
import os
import sys
import threading

log = open(sys.argv[1], "a", buffering=1)
lock = threading.Lock()
asked, made = {}, {}
USAGE = {"input_tokens": 7, "output_tokens": 3, "total_tokens": 10, "total_input_tokens": 7, "total_output_tokens": 3}


def response(status, text=None, **more):
    output = [] if text is None else [{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
                                       "content": [{"type": "output_text", "text": text, "annotations": []}]}]
    steps = [] if text is None else [{"type": "model_output", "content": [{"type": "text", "text": text}]}]
    return {"id": "resp_1", "object": "response", "status": status, "background": True, "model": "m", "output": output, "steps": steps,
            "usage": USAGE if status == "completed" else None, "error": None, **more}


def begun():
    """The beginning of a stream of Interactions, whose reply goes on in the background."""
    return [{"event_type": "interaction.created", "interaction": {"id": "resp_1", "status": "in_progress", "model": "m"}},
            {"event_type": "step.start", "index": 0, "step": {"type": "model_output"}},
            {"event_type": "step.delta", "index": 0, "delta": {"type": "text", "text": "Hello "}}]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, value):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def stream(self, events, whole):
        data = "".join(f"event: {e.get('event_type') or e['type']}\ndata: {json.dumps(e)}\n\n" for e in events).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(data) if whole else len(data) + 100))
        self.end_headers()
        self.wfile.write(data)
        self.close_connection = True

    def sender(self):
        return "Google" if self.headers.get("x-goog-api-key") else self.headers.get("Authorization", "")[:6]

    def kind(self):
        return self.path.split("/")[1] + ("+" if "/interactions" in self.path else "")

    def do_DELETE(self):
        with lock:
            log.write(f"DELETE {self.path} {self.sender()}\n")
        self.answer(200, {"id": "resp_1", "object": "response", "deleted": True})

    def refused(self, body):
        """What the vendor refuses: a reply in the background that is not stored."""
        if body.get("background") is not True or body.get("store") is not True:
            self.answer(400, {"error": {"message": "Background mode requires store=true.", "type": "invalid_request_error"}})
            return True
        return False

    def numbered(self, first, events):
        return [{**e, "sequence_number": first + i} for i, e in enumerate(events)]

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        kind, steps = self.kind().rstrip("+"), "/interactions" in self.path
        with lock:
            log.write(f"POST {self.path}\n")
            made[self.kind()] = made.get(self.kind(), 0) + 1
        if self.path.endswith("/cancel"):
            self.answer(200, response("cancelled"))
        elif kind in ("asked", "slow", "rest", "whole", "late_gone", "late_expired") and self.refused(body):
            pass
        elif steps and kind in ("cut", "whole"):
            self.stream(begun(), False)
        elif kind in ("rest", "whole"):
            item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "in_progress", "content": []}
            delta = {"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0, "content_index": 0}
            self.stream(self.numbered(0, [{"type": "response.created", "response": response("in_progress")},
                                          {"type": "response.output_item.added", "output_index": 0, "item": item},
                                          {**delta, "delta": "Hel"}, {**delta, "delta": "lo"}, {**delta, "delta": " "}]), False)
        elif kind == "expired_once" and made[self.kind()] == 2:
            self.answer(200, response("completed", "Hello world."))
        elif kind == "stream":
            self.stream([{"type": "response.created", "response": response("queued")},
                         {"type": "response.queued", "response": response("queued")}], True)
        elif kind == "cut":
            item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "in_progress", "content": []}
            self.stream([{"type": "response.created", "response": response("in_progress")},
                         {"type": "response.output_item.added", "output_index": 0, "item": item},
                         {"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0, "content_index": 0, "delta": "Hello "}], False)
        else:
            self.answer(200, response("queued"))

    def do_GET(self):
        kind = self.kind().rstrip("+")
        with lock:
            log.write(f"GET {self.path} {self.sender()}\n")
            n = asked[self.kind()] = asked.get(self.kind(), 0) + 1
        if kind == "rest" and n == 1:
            delta = {"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0, "content_index": 0}
            self.stream(self.numbered(5, [{**delta, "delta": "wor"}]), False)
        elif kind == "rest":
            delta = {"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0, "content_index": 0}
            self.stream(self.numbered(6, [{**delta, "delta": "ld."},
                                          {"type": "response.completed", "response": response("completed", "Hello world.")}]), True)
        elif kind == "whole" and "stream=true" in self.path:
            self.answer(400, {"error": {"message": "no streams here", "type": "invalid_request_error"}})
        elif kind in ("slow", "late_gone", "late_expired") and not os.path.exists(sys.argv[1] + ".go"):
            self.answer(200, response("in_progress"))
        elif kind == "queued":
            self.answer(200, response("queued"))
        elif kind.startswith("expired") or (kind == "late_expired" and made[self.kind()] == 1):
            self.answer(200, response("expired"))
        elif kind == "never":
            self.answer(200, response("in_progress"))
        elif kind in ("gone", "late_gone"):
            self.answer(404, {"error": {"message": "no such response", "type": "invalid_request_error"}})
        elif kind == "down":
            self.answer(401, {"error": {"message": "no", "type": "invalid_request_error"}})
        elif kind == "failed":
            self.answer(200, response("failed", error={"code": "server_error", "message": "the job broke"}))
        elif kind == "body" and n == 2:
            self.answer(503, {"error": {"message": "busy", "type": "server_error"}})
        elif kind == "body" and n < 4:
            self.answer(200, response("in_progress"))
        else:
            self.answer(200, response("completed", "Hello world."))


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
print(f"port {server.server_port}", flush=True)
server.serve_forever()
