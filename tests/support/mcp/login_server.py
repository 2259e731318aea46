#!/usr/bin/env python3
"""An MCP server over HTTP that wants a log-in, with its authorization server.

usage: login_server.py MODE LOG

Prints its port. Modes: good; redirect (the endpoint redirects to LOG's other origin);
wrong-issuer (the metadata names another issuer); other-resource; no-pkce; file-page (the
log-in page is a file); wrong-iss (the
redirect comes from another issuer); expires (the token becomes invalid while the tool ship
works, until whoami was called); flaky (the first refresh of a token fails with 503); lost and
locked (versions with a handshake; the stream of the tool ship breaks, and its continuation is
answered with 404 or 401); both (the same versions; the session is forgotten during a log-in).
Every request is a line of LOG.

POST /introspect tells the resource server "gate" about tokens (RFC 7662): those of POST /token,
and tokens "t.BASE64URL", which are what the server says about them.
"""
import base64
import http.server
import json
import sys
import threading
import time
import urllib.parse

mode, log = sys.argv[1], sys.argv[2]
tokens, n = set(), 0
flaky = mode == "flaky"
legacy = mode in ("lost", "locked", "both")
resources = {}  # token: what it is for
shipping, called = threading.Event(), threading.Event()  # ship works, whoami was called
refreshing = threading.Event()


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def answer(self, status, body=None, **headers):
        data = json.dumps(body).encode() if body is not None else b""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def note(self, body=""):
        with open(log, "a") as f:
            f.write("%s %s auth=%s %s\n" % (self.command, self.path, self.headers.get("Authorization", "-"), body))

    def do_GET(self):
        self.note()
        base = "http://127.0.0.1:%d" % self.server.server_port
        path, _, query = self.path.partition("?")
        if path == "/.well-known/oauth-protected-resource/mcp":
            self.answer(200, {"resource": "https://evil.example/mcp" if mode == "other-resource" else base + "/mcp", "authorization_servers": [base]})
        elif path == "/.well-known/oauth-authorization-server":
            self.answer(200, {"issuer": "https://evil.example" if mode == "wrong-issuer" else base, "authorization_endpoint": "file:///etc/hostname" if mode == "file-page" else base + "/authorize", "token_endpoint": base + "/token", "registration_endpoint": base + "/register", "code_challenge_methods_supported": ["plain"] if mode == "no-pkce" else ["S256"], "authorization_response_iss_parameter_supported": True})
        elif path == "/authorize":
            q = dict(urllib.parse.parse_qsl(query))
            iss = base + "/" if mode == "wrong-iss" else base
            self.answer(302, None, Location=q["redirect_uri"] + "?" + urllib.parse.urlencode({"code": "c0de", "state": q["state"], "iss": iss}))
        elif legacy and "Last-Event-ID" in self.headers:
            self.answer(404 if mode == "lost" else 401)
        else:
            self.answer(405)

    def answer_legacy(self, request):
        """Answer a request of the versions with a handshake; False: as of 2026-07-28."""
        method = request["method"]
        if method == "server/discover":
            self.answer(200, {"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32601, "message": "no"}})
        elif method == "initialize":
            self.answer(200, {"jsonrpc": "2.0", "id": request["id"], "result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "r", "version": "1"}}}, Mcp_Session_Id="s")
        elif "id" not in request:
            self.answer(202)
        elif method != "tools/call":
            return False
        elif mode != "both" and request["params"]["name"] == "ship":
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            self.wfile.write(b"id: 1\nretry: 100\ndata: \n\n")
        else:
            return False
        return True

    def do_POST(self):
        global n, tokens, flaky
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        self.note(body)
        if mode == "expires" and '"name":"whoami"' in body:
            shipping.wait(20)
        if mode == "both" and '"name":"whoami"' in body and not refreshing.is_set():
            shipping.wait(20)
            tokens = set()
        if mode == "both" and '"name":"ship"' in body and not refreshing.is_set():
            shipping.set()
            refreshing.wait(20)
            return self.answer(404)
        if mode == "both" and '"server/discover"' in body and refreshing.is_set():
            called.wait(20)
            time.sleep(1)  # the log-in ends before the answer
        if self.path == "/register":
            self.answer(201, {"client_id": "client", "client_secret": "s3cret", "redirect_uris": []})
        elif self.path == "/introspect":
            form = dict(urllib.parse.parse_qsl(body))
            token = form.get("token", "")
            if self.headers.get("Authorization") != "Basic " + base64.b64encode(b"gate:s%20cret").decode():
                return self.answer(401, {})
            if token.startswith("t."):
                said = json.loads(base64.urlsafe_b64decode(token[2:] + "=="))
                return self.answer(said.pop("status", 200), said)
            self.answer(200, {"active": token in tokens, "sub": "ann", "aud": resources.get(token), "scope": "mcp:use"})
        elif self.path == "/token" and flaky and "grant_type=refresh_token" in body:
            flaky = False
            self.answer(503)
        elif self.path == "/token":
            if mode == "both" and "grant_type=refresh_token" in body:
                refreshing.set()
                time.sleep(1)  # the client begins the session again
                called.set()
            n += 1
            resources["token-%d" % n] = dict(urllib.parse.parse_qsl(body)).get("resource")
            tokens = {"token-%d" % n}  # an older token is no longer valid
            self.answer(200, {"access_token": "token-%d" % n, "token_type": "Bearer", "refresh_token": "refresh-%d" % n, "expires_in": 3600})
        elif mode == "redirect":
            self.answer(307, None, Location="http://localhost:%d/elsewhere" % self.server.server_port)
        elif mode != "lost" and self.headers.get("Authorization", "")[7:] not in tokens:
            base = "http://127.0.0.1:%d" % self.server.server_port
            self.answer(401, {}, WWW_Authenticate='Bearer resource_metadata="%s/.well-known/oauth-protected-resource/mcp", scope="mcp:use"' % base)
        elif not legacy or not self.answer_legacy(json.loads(body)):
            request = json.loads(body)
            result = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
            if request["method"] == "server/discover":
                result.update(supportedVersions=["2026-07-28"], capabilities={"tools": {}})
            elif request["method"] == "tools/list":
                result["tools"] = [{"name": name, "description": "Who.", "inputSchema": {"type": "object"}} for name in ("whoami", "ship")]
            elif request["params"]["name"] == "ship":
                if mode == "expires":
                    tokens = set()
                    shipping.set()
                    called.wait(20)
                result = {"resultType": "complete", "content": [{"type": "text", "text": "shipped"}]}
            else:
                called.set()
                result = {"resultType": "complete", "content": [{"type": "text", "text": "token " + self.headers.get("Authorization", "")[7:]}]}
            self.answer(200, {"jsonrpc": "2.0", "id": request["id"], "result": result})


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
