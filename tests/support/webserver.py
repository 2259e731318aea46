#!/usr/bin/env python3
"""A web server on loopback: webserver.py LOG. Prints its port.

/to/URL redirects to URL; /bytes/N answers with N bytes; any other path is a page. CONNECT is
answered with 405. LOG gets one line for each request: method, target, header Host, bytes of the body,
and the headers that the variable HEADERS names."""
import http.server
import os
import socketserver
import sys


def shown(headers):
    return [f"{name}={headers[name]}" for name in os.environ.get("HEADERS", "").split() if name in headers]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        with open(sys.argv[1], "a", encoding="utf-8") as log:
            print(self.command, self.path, self.headers.get("Host"), len(body), *shown(self.headers), file=log)
        if self.path.startswith("/to/"):
            self.send_response(302)
            self.send_header("Location", self.path[4:])
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        text = b"x" * int(self.path[7:]) if self.path.startswith("/bytes/") else b"a page\n"
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    do_GET = do_HEAD = do_POST = do_PUT = answer

    def log_message(self, *args):
        pass


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True


server = Server(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
