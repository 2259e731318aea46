#!/usr/bin/env python3
"""server.py LOG: the model services of three vendors, as strict as their documents say.

Messages (messages.py), Responses (responses.py) and generateContent (gemini.py), streaming. A request
that the vendor would refuse gets 400 with the vendor's words: reasoning that is bound to something
else, a call without its result, a role or an effort that the model does not take. Prints its port.
The last text of the user chooses the reply:

    call NAME JSON [then ...]             a call of the tool; "then" follows its result
    calls NAME JSON & NAME JSON ...       several calls in one reply
    anything else                         "reply N", or a summary if one is asked for

A POST to /off switches the check of reasoning off, /strip accepts none at all, /modified neither, in
other words, /stubborn refuses a request without any as well, and /bound switches the check on; /wait holds replies back until /go, and /begin forgets what
was asked. LOG gets a line for each request:

    status, reasoning items sent, hash of the tools, hash of the system prompt, tokens from the cache,
    "grows" if the messages of the last request are the first bytes of these, else "other",
    "turn" or "side" (a request without tools), vendor, model, complaint

LOG.last is the last request."""
import hashlib
import http.server
import json
import re
import sys
import threading

import gemini
import messages
import responses

VENDORS = (messages.Messages(), responses.Responses(), gemini.Gemini())
LOOKBACK = 20  # blocks before the end where a cached prefix is looked for

state = {"mode": "bound", "n": 0}
lock = threading.Lock()
gate = threading.Event()
gate.set()
log = open(sys.argv[1], "a", buffering=1)
cache, last = set(), {}
progress = {}  # calls made for the words of a user: a rewritten history does not hold them all


def digest(*texts):
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


def slices(text, at, end):
    """The raw texts of the elements of an array or the members of an object."""
    decode = json.JSONDecoder().raw_decode
    found = []
    while text[at] != end:
        at += text[at] in ",[{"
        if text[at] == end:
            break
        name = None
        if end == "}":
            name, at = decode(text, at)
            at += 1
        stop = decode(text, at)[1]
        found.append((name, text[at:stop]))
        at = stop
    return found


def raw_members(text):
    return dict(slices(text, 0, "}"))


def raw_elements(text):
    return [raw for _, raw in slices(text, 0, "]")] if text else []


def from_cache(vendor, body, pieces):
    """Tokens of the longest prefix that an earlier request stored, and stores this one."""
    sums, size, hit, blocks = [], 0, 0, 0
    h = hashlib.sha256(vendor.cache_key(body).encode())
    for piece in pieces:
        h.update(piece.encode() + b"\0")
        size += len(piece)
        sums.append((h.hexdigest(), size))
    for i in range(len(sums) - 1, -1, -1):
        if blocks <= LOOKBACK and sums[i][0] in cache and not hit:
            hit = sums[i][1]
        blocks += vendor.blocks(pieces[i])
    if not hit and sums[1][0] in cache:
        hit = sums[1][1]
    marks = vendor.marks(body, len(sums))
    cache.update(sums[i][0] for i in marks)
    return hit // 4 if hit // 4 >= vendor.CACHE_MIN else 0


def wanted(vendor, body, side):
    """What the user's last words ask for and is not done yet."""
    words, done, names = "", 0, []
    for kind, text in vendor.inputs(body):
        if kind == "user":
            found = [line for line in text.split("\n") if line.startswith("call")]
            asked = side and ("## Goal" in text or words == "summary")
            words, done = "summary" if asked else found[0] if found else "talk", 0
            names += re.findall(r"\w+\.txt|(?<=Missing: ).*(?=\.)", text)
        else:
            done += 1
    steps = words.split(" then ")
    if words == "summary":
        return "summary " + " ".join(sorted(set(names)))
    made, done = 0, max(done, progress.get(words, 0))
    for step in steps:
        if made >= done and calls_of(step):
            progress[words] = made + len(calls_of(step))
            return step
        made += len(calls_of(step))
    progress.pop(words, None)
    return "talk"


def calls_of(step):
    word, _, rest = step.partition(" ")
    if word not in ("call", "calls"):
        return []
    return [part.split(" ", 1) for part in rest.split(" & ")]


def summary(names):
    heads = ("Goal", "Decisions", "Facts and identifiers", "Done", "Open tasks")
    return "\n".join("## %s\n%s\n" % (h, names if h == "Done" else "none") for h in heads)


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

    def control(self, word):
        if word in ("off", "strip", "stubborn", "modified", "bound"):
            state["mode"] = word
        elif word == "wait":
            gate.clear()
        elif word == "go":
            gate.set()
        elif word == "begin":
            last.clear()
            progress.clear()
        else:
            return False
        self.answer(200, "text/plain", b"")
        return True

    def do_POST(self):
        data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        vendor = next((v for v in VENDORS if v.PATH in self.path), None)
        if self.control(self.path[1:]):
            return
        if not vendor:
            self.answer(404, "application/json", b'{"error":{"message":"Not Found"}}')
            return
        body = json.loads(data)
        gate.wait(60)
        with lock:
            kind, status, out = self.reply(vendor, data.decode(), vendor.read(self.path, body))
        try:
            self.answer(status, kind, out)
        except OSError:
            pass  # the client was killed

    def reply(self, vendor, text, body):
        state["n"] += 1
        raw = raw_members(text)
        tools, system = raw.get("tools", ""), raw.get(vendor.SYSTEM, "")
        said = raw_elements(vendor.bare(raw[vendor.MESSAGES]))
        before = last.get(vendor.NAME, [])
        complaint = vendor.check(body, "strip" if state["mode"] == "stubborn" else state["mode"])
        if state["mode"] == "stubborn" and not complaint:
            complaint = "%s: not today" % state["complaint"]
        state["complaint"] = complaint
        side = not tools
        with open(sys.argv[1] + ".last", "w") as f:
            f.write(text)
        cached = 0
        if not complaint and not side:
            cached = from_cache(vendor, body, [vendor.bare(tools), vendor.bare(system)] + said)
        log.write("%d %d %s %s %d %s %s %s %s %s\n" % (
            400 if complaint else 200, vendor.held(body), digest(vendor.bare(tools)), digest(vendor.bare(system)), cached,
            "grows" if said[:len(before)] == before else "other", "side" if side else "turn", vendor.NAME, body["model"], complaint or ""))
        if not side:
            last[vendor.NAME] = said
        if complaint:
            return "application/json", 400, json.dumps(vendor.error(complaint)).encode()
        step = wanted(vendor, body, side)
        calls = [(name, json.loads(arguments)) for name, arguments in calls_of(step)]
        words = summary(step[8:]) if step.startswith("summary") else "reply %d" % state["n"]
        usage = {"input": len(text) // 4, "cached": cached, "output": 5}
        lines = "".join(vendor.stream(body, state["n"], calls, words, usage))
        return "text/event-stream", 200, lines.encode()


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Service)
print(server.server_address[1], flush=True)
server.serve_forever()
