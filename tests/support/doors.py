#!/usr/bin/env python3
"""doors.py CELLS
doors.py table PAGE CELLS...: compares the table of a page of the documentation with the files.

What an event does to a session: kinds of events, in states of sessions, through doors.

A line of the file CELLS has a state, the answer of the door, the session at once, the session after the end of the
state, and doors with kinds of events, DOOR:KIND. For each cell and each of the three columns the program prints a line: a
name, what the file says and what happened, with tabs between them. A column `?` takes anything.

A session is a word: u a message, E the message of the door, c a call, r its result, a an answer; then * if it has a run
in progress, = if its run is paused; - if the session does not exist. An answer with + comes after the end of the state. An answer of the gateway is the status, with ! if the body says that it failed; of a
program, the exit code.

The environment: GATEWAY, at which a session begins; DOOR, at which an event arrives (default: GATEWAY); TOKEN, TMP, SPACE,
PROGRAM; BEGIN=run if a session is begun by `chela run`."""
import base64
import http.client
import json
import os
import pty
import re
import subprocess
import sys
import threading
import time
import urllib.parse

ENV = os.environ
AT, DOOR = ENV["GATEWAY"].split("//")[1], ENV.get("DOOR", ENV["GATEWAY"]).split("//")[1]
TMP, SPACE, PROGRAM, TOKEN = ENV["TMP"], ENV["SPACE"], ENV["PROGRAM"], ENV["TOKEN"]
FROM_TERMINAL = ENV.get("BEGIN") == "run"
AUTH = {"Authorization": "Bearer " + TOKEN, "Content-Type": "application/json"}
TEXT = "hello there"
PIXEL = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
WAIT = 90


# --- HTTP

def ask(method, path, body=None, at=None, **headers):
    """The status and the text of the answer."""
    c = http.client.HTTPConnection(at or DOOR, timeout=WAIT)
    data = json.dumps(body) if body is not None else None
    try:
        c.request(method, path, data, {**AUTH, **{k.replace("_", "-"): v for k, v in headers.items()}})
        answer = c.getresponse()
        return str(answer.status), answer.read().decode()
    finally:
        c.close()


def path_of(key, rest=""):
    return "/api/sessions/" + urllib.parse.quote(key, safe="") + rest


def show(key):
    status, text = ask("GET", path_of(key) + "?limit=100", at=AT)
    return json.loads(text) if status == "200" else {}


def word(key):
    """The session as a word; see above."""
    s = show(key)
    if not s:
        return "-"
    out = ""
    for m in s.get("transcript", []):
        parts = m["content"]
        kinds = [p.get("type") for p in parts]
        if m["role"] != "assistant" and any(TEXT in p.get("text", "") for p in parts):
            out += "E"
        elif "tool_result" in kinds or m["role"] == "tool":
            out += "r"
        elif m["role"] != "assistant":
            out += "u"
        else:
            out += "c" if "tool_call" in kinds else "a"
    return out + {"running": "*", "paused": "="}.get(s["status"], "")



# --- doors of the gateway: a function (key, kind) returns the answer

def waiting(key):
    """The id and the approval id of the call that waits."""
    w = (show(key).get("waiting") or [{}])[0]
    return w.get("id", "call_none"), w.get("approval_id", "ap_none")


def body_of(key, kind):
    """The body of a message of /api/sessions."""
    call, _ = waiting(key) if kind == "answer" else ("", "")
    return {"message": {"text": TEXT}, "image": {"text": TEXT, "images": [PIXEL]}, "resume": {"resume": True},
            "answer": {"results": [{"id": call, "content": "red"}]}}.get(kind) or {"text": TEXT, "mode": kind}


def api(key, kind):
    if kind == "cancel":
        return ask("POST", path_of(key, "/cancel"), {})
    if kind == "delete":
        return ask("DELETE", path_of(key))
    if kind == "decide":
        return ask("POST", "/api/approvals/" + waiting(key)[1], {"decision": "allow-once"})
    return ask("POST", path_of(key, "/messages"), body_of(key, kind))


def ws(key, kind):
    import socket
    host, port = DOOR.split(":")
    s = socket.create_connection((host, int(port)), timeout=WAIT)
    f = s.makefile("rwb")
    f.write(("GET %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
             "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n\r\n" % (
                 path_of(key, "/socket"), DOOR, TOKEN, base64.b64encode(os.urandom(16)).decode())).encode())
    f.flush()
    status = f.readline().decode().split()[1]
    while f.readline() not in (b"\r\n", b""):
        pass
    if status != "101":
        return status, ""
    frame = {"cancel": {"type": "cancel"},
             "decide": {"type": "approval", "id": waiting(key)[1] if kind == "decide" else "", "decision": "allow-once"}}.get(
                 kind) or {"type": "message", **body_of(key, kind)}
    data = json.dumps({**frame, "ref": 1}).encode()
    n = len(data)
    f.write(bytes([0x81]) + (bytes([0x80 | n]) if n < 126 else bytes([0xFE]) + n.to_bytes(2, "big")) + bytes(4) + data)
    f.flush()
    while True:
        head = f.read(2)
        if len(head) < 2:
            return "closed", ""
        n = head[1] & 127
        n = int.from_bytes(f.read(2 if n == 126 else 8), "big") if n > 125 else n
        text = f.read(n).decode(errors="replace")
        if head[0] & 15 == 8:
            return "closed", text
        if head[0] & 15 == 1 and json.loads(text).get("ref") == 1:
            s.close()
            return str(json.loads(text)["status"]), text


def chat(key, kind):
    messages = [{"role": "user", "content": TEXT}]
    if kind == "answer":
        call = waiting(key)[0]
        messages = [{"role": "user", "content": "x"},
                    {"role": "assistant", "tool_calls": [{"id": call, "type": "function", "function": {"name": "get_place", "arguments": "{}"}}]},
                    {"role": "tool", "tool_call_id": call, "content": "red"}]
    return ask("POST", "/v1/chat/completions", {"model": "main", "messages": messages}, X_Chela_Session=key)


def responses(key, kind):
    given = [{"type": "function_call_output", "call_id": waiting(key)[0], "output": "red"}] if kind == "answer" else TEXT
    return ask("POST", "/v1/responses", {"model": "main", "input": given}, X_Chela_Session=key)


def messages(key, kind):
    given = [{"type": "tool_result", "tool_use_id": waiting(key)[0], "content": "red"}] if kind == "answer" else TEXT
    return ask("POST", "/v1/messages", {"model": "main", "max_tokens": 100, "messages": [{"role": "user", "content": given}]},
               X_Chela_Session=key)


def ui(key, kind):
    call, approval = waiting(key) if kind != "message" else ("", "")
    part = {"answer": {"type": "dynamic-tool", "toolName": "t", "toolCallId": call, "state": "output-available", "input": {}, "output": "red"},
            "decide": {"type": "dynamic-tool", "toolName": "t", "toolCallId": call, "state": "approval-responded", "input": {},
                       "approval": {"id": approval, "approved": True}},
            "message": {"type": "text", "text": TEXT}}[kind]
    said = {"id": "u1", "role": "user" if kind == "message" else "assistant", "parts": [part]}
    status, text = ask("POST", "/api/chat", {"id": key, "trigger": "submit-message", "messages": [said]})
    return status + ("!" if '"type":"error"' in text else ""), text


def lark(key, kind, words=TEXT):
    chat_id = key.split(":")[1]
    text = {"cancel": "/stop", "compact": "/compact", "new": "/new", "decide": "/approve"}.get(kind, words)
    event = {"schema": "2.0",
             "header": {"event_id": "ev_" + chat_id + kind + words[0], "event_type": "im.message.receive_v1", "create_time": str(int(time.time() * 1000)),
                        "token": ENV["LARK_TOKEN"], "app_id": ENV["LARK_APP"], "tenant_key": "tk"},
             "event": {"sender": {"sender_id": {"open_id": "ou_ann", "union_id": "on_x"}, "sender_type": "user", "tenant_key": "tk"},
                       "message": {"message_id": "om_" + chat_id + kind + words[0], "create_time": str(int(time.time() * 1000)), "chat_id": chat_id,
                                   "chat_type": "p2p", "message_type": "text", "content": json.dumps({"text": text}), "mentions": []}}}
    status, _ = ask("POST", "/channels/feishu/events", event)
    if not ENV.get("RECORD"):
        return status, ""
    said = []
    until(lambda: said.extend(line for line in open(TMP + "/lark/sent") if chat_id in line) or said)
    return status, " ".join(said)


def mcp(key, kind):
    name = key.split(":")[1]
    method, params = "tools/call", {"name": "ask_main", "arguments": {"message": TEXT, "session": name}}
    if kind == "cancel":
        method, params = "tasks/cancel", {"taskId": name}
    params["_meta"] = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                       "io.modelcontextprotocol/clientCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}}
                       if kind == "cancel" else {}}
    headers = {"Accept": "application/json, text/event-stream", "MCP_Protocol_Version": "2026-07-28", "Mcp_Method": method,
               "Mcp_Name": params.get("name", name)}
    status, text = ask("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, **headers)
    return status + ("!" if '"isError":true' in text or '"error":' in text else ""), text


def send(key, kind):
    status, text = ask("POST", path_of("from-" + key, "/messages"), {"text": "send " + key, "agent": "writer", "stream": True})
    return status + ("!" if '"is_error":true' in text else ""), text


def clock(key, kind):
    """The time of a call comes by itself."""
    return "-", ""


def larkclock(key, kind):
    return "-", ""


def schedule(key, kind):
    while True:  # one schedule is started at a time
        answer = ask("POST", "/api/schedules/%s/run" % key, {})
        if "try again" not in answer[1]:
            return answer
        time.sleep(0.2)


# --- programs

def program(*args, stdin=None):
    p = subprocess.run([PROGRAM, *args], cwd=SPACE, stdin=subprocess.DEVNULL, capture_output=True, timeout=WAIT, text=True)
    return str(p.returncode), p.stdout + p.stderr


CONFIG = ["--config", SPACE + "/chela.yaml"]


def run(key, kind):
    return program("run", *CONFIG, "--session", key, TEXT)


def attach(key, kind):
    return program("attach", *CONFIG, *{"message": ["--say", TEXT], "cancel": ["--cancel"], "decide": ["--allow", "all"]}[kind], key)


def sessions(key, kind):
    return program("sessions", kind, *CONFIG, key)


class Editor:
    """An editor that speaks the Agent Client Protocol."""

    def __init__(self, key):
        self.p = subprocess.Popen([PROGRAM, "acp", *CONFIG], cwd=SPACE, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True)
        self.key = key
        self.request(1, "initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        self.loaded = self.request(2, "session/load", {"sessionId": key, "cwd": SPACE, "mcpServers": []})

    def say(self, m):
        self.p.stdin.write(json.dumps({"jsonrpc": "2.0", **m}) + "\n")
        self.p.stdin.flush()

    def request(self, n, method, params):
        self.say({"id": n, "method": method, "params": params})
        for line in self.p.stdout:
            m = json.loads(line)
            if m.get("method") == "session/request_permission":
                self.say({"id": m["id"], "result": {"outcome": {"outcome": "selected", "optionId": "reject"}}})
            if m.get("id") == n and "method" not in m:
                return m
        return {"error": {"code": "closed"}}

    def close(self):
        self.p.stdin.close()
        self.p.wait()


def acp(key, kind):
    e = Editor(key)
    if "error" in e.loaded:
        e.close()
        return "load:%s" % e.loaded["error"]["code"], json.dumps(e.loaded)
    blocks = [{"type": "text", "text": TEXT}]
    if kind == "image":
        blocks.append({"type": "image", "data": PIXEL.split(",")[1], "mimeType": "image/png"})
    m = e.request(3, "session/prompt", {"sessionId": key, "prompt": blocks})
    e.close()
    return m["result"]["stopReason"] if "result" in m else str(m["error"]["code"]), json.dumps(m)


def chat_type(key, lines):
    """`chela chat` in a terminal: types the lines, and leaves when the program is idle."""
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(SPACE)
        os.environ["TERM"] = "xterm"
        os.execv(PROGRAM, [PROGRAM, "chat", *CONFIG, "--session", key])
    seen = b""

    def until(pattern, seconds):
        nonlocal seen
        import select
        end = time.time() + seconds
        while time.time() < end and not re.search(pattern, seen):
            if select.select([fd], [], [], 0.2)[0]:
                try:
                    seen += os.read(fd, 65536)
                except OSError:
                    return False
        return bool(re.search(pattern, seen))
    until(b"> ", 20)
    time.sleep(0.5)
    for line in lines:
        os.write(fd, line.encode() + b"\r")
        time.sleep(1)
    until(b"answered|in use|error", 10)
    os.write(fd, b"\x03\x04")
    time.sleep(0.3)
    os.write(fd, b"\x04")
    until(b"\0never", 3)
    try:
        os.kill(pid, 15)
    except OSError:
        pass
    os.close(fd)
    os.waitpid(pid, 0)
    return seen.decode(errors="replace")


def term(key, kind):
    seen = chat_type(key, {"message": [TEXT], "resume": ["/resume"], "compact": ["/compact"], "undo": ["/undo chat"]}[kind])
    return "typed", seen


DOORS = {f.__name__: f for f in (api, ws, chat, responses, messages, ui, lark, mcp, send, schedule, clock, larkclock, run, attach, sessions, acp, term)}


# --- states

FIRST = {"idle": "hello", "running": "wait", "approval": "approve", "client": "place", "person": "question", "time": "later", "soon": "soon"}
TOOLS = [{"name": "get_place", "description": "Where.", "parameters": {"type": "object"}}]
background = []


def begin(key, state):
    if state == "absent":
        return
    if state == "asked":
        lark(key, "message", "approve")
    elif FROM_TERMINAL:
        args = [PROGRAM, "run", *CONFIG, "--approve", "ask", "--session", key, FIRST[state]]
        p = subprocess.Popen(args, cwd=SPACE, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        background.append(p)
        if state != "running":
            p.wait()
    else:
        body = {"text": FIRST[state]}
        if state == "client":
            body["tools"] = TOOLS
        ask("POST", path_of(key, "/messages"), body, at=AT)
    if state == "soon":  # its run may have ended already
        return
    want = state if state in ("idle", "running") else "paused"
    until(lambda: show(key).get("status") == want and (state != "running" or word(key) == "uc*"))


def release(key, state):
    s = show(key)
    if s.get("status") != "paused":
        return
    call, approval = waiting(key)
    if state in ("approval", "asked"):
        ask("POST", "/api/approvals/" + approval, {"decision": "deny"}, at=AT)
    elif state in ("client", "person"):
        ask("POST", path_of(key, "/messages"), {"results": [{"id": call, "content": "red"}]}, at=AT)
    else:
        ask("POST", path_of(key, "/cancel"), {}, at=AT)


def until(check):
    end = time.time() + WAIT
    while time.time() < end:
        if check():
            return True
        time.sleep(0.1)
    return False


# --- cells

class Cell:
    def __init__(self, line, door):
        self.state, self.code, self.before, self.after = line
        self.door, self.kind = door.split(":")
        self.name = "%s, %s" % (self.state, door)
        name = "%s-%s-%s" % (self.state, self.door, self.kind)
        self.key = "feishu:oc_" + name if self.state == "asked" else {"lark": "feishu:oc_", "larkclock": "feishu:oc_", "mcp": "mcp:"}.get(
            self.door, "") + name
        self.answer = self.text = None

    def play(self):
        try:
            self.answer, self.text = DOORS[self.door](self.key, self.kind)
        except Exception as e:  # the name of the cell matters more than where this happened
            self.answer, self.text = type(e).__name__, str(e)

    def tell(self, what, want, got):
        sys.stdout.write("%s: %s\t%s\t%s\n" % (self.name, what, got if want == "?" else want, got))
        if want not in (got, "?"):
            sys.stderr.write("%s: %s\n" % (self.name, (self.text or "")[:600]))

    def settle(self, want):
        """The session, when it is as wanted, or does not change any more."""
        if want != "?":
            until(lambda: word(self.key) == want)
            return word(self.key)
        last, since = None, 0
        end = time.time() + 30
        while time.time() < end and since < 15:
            now = word(self.key)
            last, since = now, since + 1 if now == last else 0
            time.sleep(0.1)
        return last


def read_cells(path):
    cells = []
    for line in open(path):
        if line.startswith("#") or not line.strip():
            continue
        *columns, doors = line.split(None, 4)
        cells += [Cell(columns, d) for d in doors.split()]
    return cells


def every(cells, fn, at_once=12):
    """Calls fn for every cell, several at a time."""
    todo = list(cells)
    lock = threading.Lock()

    def work():
        while True:
            with lock:
                if not todo:
                    return
                c = todo.pop(0)
            fn(c)
    threads = [threading.Thread(target=work) for _ in range(at_once)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


def play(cells):
    go = TMP + "/go"
    if os.path.exists(go):
        os.remove(go)
    every(cells, lambda c: begin(c.key, c.state))
    players = [threading.Thread(target=c.play) for c in cells]
    for t in players:
        t.start()

    def at_once(c):
        if c.code[0] not in "+?":
            until(lambda: c.answer)
        c.at_once = c.settle(c.before)
        c.early = c.answer
    every(cells, at_once)
    open(go, "w").close()
    every(cells, lambda c: release(c.key, c.state))
    for t in players:
        t.join()

    def afterwards(c):
        c.at_last = c.settle(c.after)
    every(cells, afterwards)
    for c in cells:
        got = c.answer if c.early else "+" + c.answer
        c.tell("the answer", c.code, got)
        c.tell("the session at once", c.before, c.at_once)
        c.tell("the session afterwards", c.after, c.at_last)
        if ENV.get("RECORD"):
            print("%s %s %s %s %s:%s" % (c.state, got, c.at_once, c.at_last, c.door, c.kind), file=open(ENV["RECORD"], "a"))
            if got[0] not in "2+" or "!" in got or c.door in ("lark", "run", "attach", "acp", "sessions", "term"):
                print("    " + (c.text or "").replace("\n", " ")[-400:], file=open(ENV["RECORD"], "a"))


# --- the table of docs/sessions.md

BEFORE = {"absent": "-", "idle": "ua", "running": "uc*", "approval": "uc=", "client": "uc=", "person": "uc=", "time": "uc="}
WAITS_FOR_ITS_OWN_ANSWER = ("chat", "responses", "messages", "ui", "mcp", "schedule")
COLUMNS = {"message": "message", "steer": "message", "image": "message", "follow_up": "follow-up", "run": "`run`",
           "take_over": "take-over", "answer": "result", "decide": "decision", "cancel": "cancel", "resume": "resume",
           "delete": "delete"}


def outcome(c):
    """What the event did, as one word."""
    base = BEFORE[c.state]
    if "E" in c.after:
        waited = c.before == base
        return "begins" if "c" not in base else \
            "joins" if c.after.endswith("rEa") and not (waited and c.state == "time") else "follows"
    if c.before == "-" != base:
        return "deleted"
    if c.before != base:
        return "ends" if c.kind in ("cancel", "take_over") else "continues"
    told = c.door == "lark" or c.code.endswith("!") or c.code[0] == "4"  # a chat is told in words
    return "refused" if told else "nothing"


def check_table(page, paths):
    """A line for each cell of the table: the outcomes that it names, and those of the files."""
    seen = {}
    for c in (c for p in paths for c in read_cells(p)):
        if c.state in BEFORE and c.kind in COLUMNS:
            own = c.kind == "message" and c.door in WAITS_FOR_ITS_OWN_ANSWER
            seen.setdefault((c.state, "own run" if own else COLUMNS[c.kind]), set()).add(outcome(c))
    heads = []
    for line in open(page):
        cells = [x.strip() for x in line.strip().strip("|").split("|")]
        if cells[0] == "session":
            heads = cells
        elif not line.startswith("|"):
            heads = []
        elif heads and cells[0] in BEFORE:
            for head, cell in zip(heads[1:], cells[1:]):
                said = set(re.findall(r"begins|joins|follows|refused|ends|continues|deleted|nothing", cell))
                got = seen.pop((cells[0], head), set())
                print("the table, %s, %s\t%s\t%s" % (cells[0], head, " ".join(sorted(said)), " ".join(sorted(got))))
    print("the table has every cell\t\t%s" % " ".join("%s/%s" % k for k in sorted(seen)))


def main():
    if sys.argv[1] == "table":
        check_table(sys.argv[2], sys.argv[3:])
        return
    play(read_cells(sys.argv[1]))


if __name__ == "__main__":
    main()
