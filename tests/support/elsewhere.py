#!/usr/bin/env python3
"""elsewhere.py GATEWAY TOKEN: requests to sessions that another worker has, and two requests at once.
elsewhere.py GATEWAY TOKEN killed: a worker is killed while its session waits for one of another worker.

Prints a line for each case: its name and the outcome."""
import base64
import http.client
import json
import os
import signal
import struct
import sys
import time

address, token = sys.argv[1].split("//")[1], sys.argv[2]
AUTH = {"Authorization": "Bearer " + token, "Content-Type": "application/json"}
LOOK = [{"name": "look", "description": "Look.", "parameters": {"type": "object"}}]


def ask(connection, method, path, body=None, **headers):
    headers = {k.replace("_", "-"): v for k, v in headers.items()}
    connection.request(method, path, json.dumps(body) if body is not None else None, {**AUTH, **headers})
    answer = connection.getresponse()
    return answer.status, answer.read().decode().strip()


def connect(pid=None):
    """A connection to the worker with this process id; None: to any worker."""
    while True:
        c = http.client.HTTPConnection(address, timeout=15)
        found = json.loads(ask(c, "GET", "/api/nodes")[1])["pid"]
        if pid in (None, found):
            return c, found
        c.close()


here, first = connect()
there, other = connect()
while other == first:
    there, other = connect()


def say(key, body, at=None, **headers):
    return ask(at or here, "POST", f"/api/sessions/{key}/messages", body, **headers)


def status_is(key, want):
    """Waits for the status. A session is idle before its first run, too."""
    for _ in range(1500):
        session = json.loads(ask(here, "GET", "/api/sessions/" + key)[1])
        if session.get("status") == want and (want != "idle" or session.get("turns")):
            break
        time.sleep(0.02)
    return session


def hold(key, at=first):
    """A follower of the events: the first worker keeps the session."""
    c = connect(at)[0]
    c.request("GET", f"/api/sessions/{key}/events", None, AUTH)
    return c, c.getresponse()


def ends(stream, limit=30):
    """Does the stream end? Lines that keep it alive do not count."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        if not stream[1].readline():
            return True
    return False


class Socket:
    """The WebSocket of a session, at the second worker by default."""

    def __init__(self, key, at=other):
        c = connect(at)[0]
        self.s = c.sock
        self.s.sendall((f"GET /api/sessions/{key}/socket HTTP/1.1\r\nHost: {address}\r\nUpgrade: websocket\r\n"
                        f"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nAuthorization: Bearer {token}\r\n"
                        f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}\r\n\r\n").encode())
        self.f = self.s.makefile("rb")
        while self.f.readline() not in (b"\r\n", b""):
            pass

    def send(self, **frame):
        data = json.dumps(frame).encode()
        self.s.sendall(struct.pack("!BBI", 0x81, 0x80 | len(data), 0) + data)

    def until(self, kind):
        while True:
            n = self.f.read(2)[1]
            n = struct.unpack("!H", self.f.read(2))[0] if n == 126 else n
            frame = json.loads(self.f.read(n))
            if frame["type"] == kind:
                return frame

    def closed(self):
        """The code of the close frame, which follows other frames."""
        while True:
            kind, n = self.f.read(2)
            n = struct.unpack("!H", self.f.read(2))[0] if n == 126 else n
            data = self.f.read(n)
            if kind == 0x88:
                return struct.unpack("!H", data[:2])[0]


def deletes():
    for text, state in (("pause", "paused"), ("hello", "idle"), ("hello", "watched")):
        key = "delete-" + state
        say(key, {"text": text})
        status_is(key, "paused" if text == "pause" else "idle")
        watched = hold(key) if state == "watched" else None
        yield key, *ask(there, "DELETE", "/api/sessions/" + key)
        yield key + "-gone", ask(here, "GET", "/api/sessions/" + key)[0]
        del watched
    time.sleep(1)  # the event that asked for the release is retried meanwhile
    yield "deleted-stay-gone", *(ask(here, "GET", "/api/sessions/delete-" + state)[0]
                                 for state in ("paused", "idle", "watched"))
    say("delete-running", {"text": "long"})
    status_is("delete-running", "running")
    yield "delete-running", ask(there, "DELETE", "/api/sessions/delete-running")[0]
    yield "delete-none", ask(there, "DELETE", "/api/sessions/delete-none")[0]


def streams():
    """The streams of a deleted session end, at the worker that has it and at the other."""
    for name, at in (("here", here), ("there", there)):
        key = "streams-" + name
        say(key, {"text": "hello"})
        status_is(key, "idle")
        followers = hold(key), hold(key, other)
        sockets = Socket(key, first), Socket(key)
        yield key, ask(at, "DELETE", "/api/sessions/" + key)[0]
        yield key + "-end", *map(ends, followers), *(s.closed() for s in sockets)


def held_deletes():
    """However late the holder learns that it has to release the session."""
    answers = set()
    for i in range(20):
        say(f"held{i}", {"text": "hello"})
        status_is(f"held{i}", "idle")
        held = hold(f"held{i}")
        answers.add(ask(there, "DELETE", f"/api/sessions/held{i}")[0])
        held[0].close()
    yield "held-deletes", *answers


def results():
    say("twice", {"text": "two", "tools": LOOK})
    calls = [c["id"] for c in status_is("twice", "paused")["waiting"]]
    a, b = ({"id": id, "content": id} for id in calls)
    yield "same-id-twice", say("twice", {"results": [a, b, a]})[0]
    yield "after-same-id", say("twice", {"results": [a, b]})[0]
    say("one-by-one", {"text": "two", "tools": LOOK})
    status_is("one-by-one", "paused")
    held = hold("one-by-one")
    answers = [say("one-by-one", {"results": [r]}, there) for r in (a, b)]
    yield "one-by-one", *(status for status, _ in answers)
    yield "one-by-one-resumed", *(json.loads(body)["resumed"] for _, body in answers)
    yield "one-by-one-ended", status_is("one-by-one", "idle")["transcript"][-1]["content"][0]["text"]
    del held


def decisions():
    say("decide", {"text": "pause"})
    approval = status_is("decide", "paused")["waiting"][0]["approval_id"]
    held = hold("decide")
    status, body = ask(there, "POST", "/api/approvals/" + approval, {"decision": "allow-once"})
    yield "decision", status, json.loads(body)["resumed"]
    del held


def cancels():
    run = json.loads(say("cancel", {"text": "long"})[1])["run"]
    status_is("cancel", "running")
    status, body = ask(there, "POST", "/api/sessions/cancel/cancel", {})
    yield "cancel", status, json.loads(body)["run"] == run
    run = json.loads(say("over", {"text": "pause"})[1])["run"]
    status_is("over", "paused")
    held = hold("over")
    status, body = say("over", {"text": "mine", "mode": "take_over"}, there)
    yield "take-over", status, json.loads(body)["run"] == run
    del held


def repeats():
    say("repeat", {"text": "hello"})
    status_is("repeat", "idle")
    held = hold("repeat")
    leaving = connect(other)[0]
    message, key = {"text": "again", "stream": True}, {"Idempotency-Key": "one"}
    leaving.request("POST", "/api/sessions/repeat/messages", json.dumps(message), {**AUTH, **key})
    for _ in range(1500):
        if json.loads(ask(here, "GET", "/api/sessions/repeat")[1])["turns"] == 2:
            break
        time.sleep(0.02)
    leaving.close()
    status = say("repeat", message, connect(other)[0], Idempotency_Key="one")[0]
    yield "repeat", 202 if status == 200 else status  # 200: the stream ended before it was closed
    del held


def sockets():
    s = Socket("late")
    say("late", {"text": "pause"})
    status_is("late", "paused")
    held = hold("late")
    s.send(type="message", text="more")
    yield "socket-message", s.until("ack")["status"]
    approval = json.loads(ask(here, "GET", "/api/sessions/late")[1])["waiting"][0]["approval_id"]
    yield "socket-decision", ask(here, "POST", "/api/approvals/" + approval, {"decision": "deny"})[0]
    yield "socket-event", s.until("run_end")["type"]
    del held


def pages():
    """A page that is loaded again, at the worker that has the session."""
    say("page", {"text": "hello"})
    status_is("page", "idle")
    held = hold("page")
    c = connect(other)[0]
    message = {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "long"}]}
    c.request("POST", "/api/chat", json.dumps({"id": "page", "messages": [message]}), AUTH)
    status_is("page", "running")
    again = connect(first)[0]
    again.request("GET", "/api/chat/page/stream", None, AUTH)
    yield "page", again.getresponse().status
    yield "page-cancel", ask(here, "POST", "/api/sessions/page/cancel", {})[0]
    again.close()
    while (status := ask(here, "GET", "/api/chat/page/stream")[0]) == 200:
        pass  # the stream that was opened above ends
    yield "page-idle", status
    del held


def responses():
    long = json.loads(ask(here, "POST", "/v1/responses", {"model": "coder", "input": "x" * 1100000})[1])["id"]
    short = json.loads(ask(here, "POST", "/v1/responses", {"model": "coder", "input": "hello"})[1])["id"]
    for _ in range(1024):
        ask(here, "GET", "/v1/responses/" + short)
    yield "response", ask(here, "GET", "/v1/responses/" + long)[0]
    yield "response-deleted", ask(there, "DELETE", "/v1/responses/" + short)[0]
    yield "response-gone", ask(here, "GET", "/v1/responses/" + short)[0]


def followers():
    """Followers of the events of a session that a message with tools has just opened."""
    lost = 0
    for i in range(20):
        key = f"follow{i}"
        say(key, {"text": "hello"}, there)
        status_is(key, "idle")
    for i in range(20):
        key = f"follow{i}"
        while "in_use_by" in json.loads(ask(here, "GET", "/api/sessions/" + key)[1]):
            time.sleep(0.02)
        here.request("POST", f"/api/sessions/{key}/messages", json.dumps({"text": "two", "tools": LOOK}), AUTH)
        held = hold(key)
        here.getresponse().read()
        for _ in range(300):
            session = json.loads(ask(here, "GET", "/api/sessions/" + key)[1])
            if session["status"] == "paused" or session["turns"] > 2:
                break
            time.sleep(0.02)
        lost += session["status"] != "paused"
        held[0].close()
    yield "followers-lost-tools", lost


def at_once():
    """Two messages with tools at once: the run has the tools of the message that began it."""
    lost = 0
    beside = connect(first)[0]
    for i in range(60):
        key = f"once{i}"
        say(key, {"text": "hello"})
        status_is(key, "idle")
        for c, text, name in ((here, "two", "look"), (beside, "hello", "hear")):
            tools = [{**LOOK[0], "name": name}]
            c.request("POST", f"/api/sessions/{key}/messages", json.dumps({"text": text, "tools": tools}), AUTH)
        for c in here, beside:
            c.getresponse().read()
        for _ in range(300):
            session = json.loads(ask(here, "GET", "/api/sessions/" + key)[1])
            if session["status"] == "paused" or session["turns"] > 1 and session["status"] == "idle":
                break
            time.sleep(0.02)
        lost += "There is no tool" in json.dumps(session["transcript"])
    yield "at-once-lost-tools", lost


def killed():
    """A message between sessions was delivered: it must not be sent again."""
    say("target", {"text": "hello"}, there)
    status_is("target", "idle")
    c = connect(other)[0]
    c.request("GET", "/api/sessions/target/events", None, AUTH)
    held = c.getresponse()
    say("sender", {"text": "tell"})
    while json.loads(ask(there, "GET", "/api/sessions/target")[1])["status"] != "running":
        time.sleep(0.02)
    os.kill(first, signal.SIGKILL)
    session = {}
    while session.get("status") != "idle":
        time.sleep(0.05)
        session = json.loads(ask(there, "GET", "/api/sessions/sender")[1])
    told = session["transcript"][-2]["content"][0]["content"]
    yield "killed", "Outcome unknown" in told or told == "slowly"
    del held


for part in (killed,) if len(sys.argv) > 3 else (deletes, streams, held_deletes, results, decisions, cancels, repeats, sockets, pages, responses, followers, at_once):
    try:
        for line in part():
            print(*line, flush=True)
    except (OSError, ValueError, KeyError, IndexError) as e:
        print(part.__name__, "failed", type(e).__name__, e, flush=True)
        here, there = connect(first)[0], connect(other)[0]
