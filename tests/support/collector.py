"""A collector of OpenTelemetry's protocol over HTTP, for tests.

    collector.py DIR

Prints its port. DIR/log.jsonl has a line for each request: path, headers in lower case, status,
and the body: JSON as it is, protobuf as base64. A line in DIR/answers is the answer to the
next request, once: a status; "STATUS SECONDS" with the header Retry-After; "hang", which never
answers; "partial", which rejects one item; "cut", which closes the connection. Else it is 200.
"""
import base64
import http.server
import json
import os
import sys
import threading
import time

place = sys.argv[1]
lock = threading.Lock()


def next_answer():
    path = os.path.join(place, "answers")
    with lock:
        try:
            with open(path) as f:
                lines = f.read().splitlines()
        except FileNotFoundError:
            return "200"
        if not lines:
            return "200"
        with open(path, "w") as f:
            f.write("".join(line + "\n" for line in lines[1:]))
        return lines[0]


def note(row):
    with lock, open(os.path.join(place, "log.jsonl"), "a") as f:
        f.write(json.dumps(row) + "\n")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        headers = {k.lower(): v for k, v in self.headers.items()}
        is_json = headers.get("content-type") == "application/json"
        answer = next_answer()
        words = answer.split()
        row = {"path": self.path, "headers": headers, "answer": answer}
        row["body"] = json.loads(body) if is_json else base64.b64encode(body).decode()
        note(row)
        if answer == "hang":
            time.sleep(600)
        if answer in ("hang", "cut"):
            self.close_connection = True
            return
        name = {"/v1/traces": "rejectedSpans", "/v1/metrics": "rejectedDataPoints"}.get(self.path, "rejectedLogRecords")
        partial = {"partialSuccess": {name: "1", "errorMessage": "one too many"}}
        reply = json.dumps(partial if answer == "partial" else {}).encode()
        if not is_json:
            text = b"one too many"
            inner = b"\x08\x01\x12" + bytes([len(text)]) + text
            reply = b"\x0a" + bytes([len(inner)]) + inner if answer == "partial" else b""
        self.send_response(200 if answer == "partial" else int(words[0]))
        if len(words) > 1:
            self.send_header("Retry-After", words[1])
        self.send_header("Content-Type", headers.get("content-type", ""))
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
print(server.server_address[1], flush=True)
server.serve_forever()
