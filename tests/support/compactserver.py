#!/usr/bin/env python3
"""compactserver.py LOG: services that condense conversations, by the published rules of their vendors.

POST /v1/messages (Anthropic), /v1/responses and /v1/responses/compact (OpenAI). A user's "word X" is
remembered as long as the service can see it: in a message, or in a compaction that it made itself.
The last user text chooses the reply:

    call NAME JSON [then ...]   reasoning, and a call of the tool; "then" follows its result
    anything else               reasoning, and "words: " with all words that can be seen

Refused with 400: a compaction that is changed, not the first, one of several, without content, or
without its header; parameters that an endpoint does not take, or not together; reasoning that is
bound to other messages; a call without its result. POST /mode/NAME changes what the service does:

    plain       by the rules
    refuse      it does not know the parameter (nor /responses/compact)
    null        its compaction has no content
    broken      its compaction is not one: {"type":"compaction"} with a number as content
    none        asked for a compaction, it answers with a text
    hold        it does not answer a request that holds a compaction until the mode changes

LOG gets a line of JSON for each request: path, status, complaint, size in tokens, whether it
held a compaction, what it asked for, and the number of messages. Prints its port."""
import base64
import hashlib
import http.server
import json
import re
import sys
import threading
import time

state = {"mode": "plain", "n": 0}
made = {}       # text of a compaction -> words in it
condensed = {}  # signature of a compaction -> the messages that it stands for
lock = threading.Lock()
log = open(sys.argv[1], "a", buffering=1)


class Refused(Exception):
    pass


def need(condition, complaint):
    if not condition:
        raise Refused(complaint)


def size(value):
    return len(json.dumps(value)) // 4


def digest(value):
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def words_in(text):
    return re.findall(r"\bword (\w+)", text)


def plan(steps, done):
    steps = steps.split(" then ")
    return steps[done] if done < len(steps) else "talk"


def call_of(text):
    found = [line for line in text.split("\n") if line.startswith("call ")]
    return found[0] if found else "talk"


# --- Anthropic


def bare(value):
    if isinstance(value, dict):
        return {k: bare(v) for k, v in value.items() if k != "cache_control"}
    if isinstance(value, list):
        return [bare(v) for v in value if not (isinstance(v, dict) and v.get("type") == "thinking")]
    return value


def blocks(message):
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def prefix(body, messages):
    return digest([bare(body.get("system")), bare(body.get("tools")),
                   [{"role": m["role"], "content": bare(blocks(m))} for m in messages]])


def is_compaction(b):
    return b.get("type") == "compaction"


def check_thinking(body):
    first = blocks(body["messages"][0])[0]
    before = condensed.get(first.get("signature"), []) if is_compaction(first) else []
    rest = body["messages"][1:] if len(blocks(body["messages"][0])) == 1 else body["messages"]
    for i, m in enumerate(body["messages"]):
        kept = before + rest[: i - (rest is not body["messages"])]
        for b in blocks(m):
            if b.get("type") != "thinking":
                continue
            proof = json.loads(base64.b64decode(b["signature"]))
            fits = proof["m"] != body["model"] or proof["p"] in (prefix(body, body["messages"][:i]), prefix(body, kept))
            need(fits, "messages.%d.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation." % i)


def check_messages(body, betas):
    messages = body["messages"]
    found = [(i, k, b) for i, m in enumerate(messages) for k, b in enumerate(blocks(m)) if is_compaction(b)]
    if found:
        need("compact-2026-01-12" in betas and "compact-2026-09-04" in betas, "messages.0.content.0: Input tag 'compaction' found: the beta header is missing")
    for i, k, b in found:
        need((i, k) == (0, 0), "compaction_block_misplaced: the compaction must be the first block")
        need(len(found) == 1, "compaction_block_misplaced: there is more than one compaction")
        need(isinstance(b.get("content"), str) and b["content"], "messages.0.content.0.content: Input should be a valid string")
        need(digest(b) in made, "messages.0.content.0: the compaction was changed")
    calls = []
    for m in messages:
        results = [b["tool_use_id"] for b in blocks(m) if b.get("type") == "tool_result"]
        need(results == calls, "messages: `tool_use` ids were found without `tool_result` blocks immediately after")
        calls = [b["id"] for b in blocks(m) if b.get("type") == "tool_use"]
    need(not calls, "messages: `tool_use` ids were found without `tool_result` blocks")
    check_thinking(body)


def check_edits(body, betas):
    management = body.get("context_management")
    if management is None:
        return None
    need(state["mode"] != "refuse", "context_management: Extra inputs are not permitted")
    threshold = None
    for edit in management["edits"]:
        kind, value = edit["type"], edit["trigger"]["value"]
        need(edit["trigger"]["type"] == "input_tokens", "context_management.edits: trigger")
        if kind == "compact_20260112":
            need("compact-2026-01-12" in betas, "context_management.edits: Input tag 'compact_20260112' found")
            need(value >= 50000, "context_management.edits.trigger.value: Input should be greater than or equal to 50000")
            threshold = value
        else:
            need(kind == "clear_tool_uses_20250919" and "context-management-2025-06-27" in betas, "context_management: Extra inputs are not permitted")
            need(set(edit) <= {"type", "trigger", "keep", "clear_at_least"}, "context_management.edits: Extra inputs")
    return threshold


def seen_words(body):
    words = []
    for m in body["messages"]:
        for b in blocks(m):
            if is_compaction(b):
                words = list(made[digest(b)])
            elif b.get("type") == "text" and m["role"] == "user":
                words += words_in(b["text"])
    return words


def wanted(body):
    words, done = "talk", 0
    for m in body["messages"]:
        for b in blocks(m):
            if m["role"] == "user" and b.get("type") == "text" and "Summary of the conv" not in b["text"]:
                words, done = call_of(b["text"]), 0
            done += b.get("type") == "tool_result"
    return plan(words, done)


def compaction(words):
    if state["mode"] in ("null", "broken"):
        return {"type": "compaction", "content": None if state["mode"] == "null" else 7}
    block = {"type": "compaction", "content": "They said: " + ", ".join("word " + w for w in words), "signature": "sig_%d" % state["n"]}
    made[digest(block)] = words
    return block


def anthropic(body, betas):
    check_messages(body, betas)
    threshold = check_edits(body, betas)
    if body["messages"][-1]["role"] == "assistant":
        need("compaction" in body, "messages: the last one must be the user's")
    usage = {"input_tokens": size(body), "output_tokens": 10}
    if "compaction" in body:
        need(state["mode"] != "refuse", "compaction: Extra inputs are not permitted")
        need(body["compaction"] == {"type": "summarize"} and "compact-2026-09-04" in betas, "compaction: Extra inputs are not permitted")
        for member in ("context_management", "stop_sequences"):
            need(member not in body, "compaction: cannot be combined with " + member)
        need("format" not in body.get("output_config", {}), "compaction: cannot be combined with output_config.format")
        need(body.get("tool_choice", {}).get("type", "auto") in ("auto", "none"), "compaction: cannot be combined with a forced tool choice")
        if state["mode"] == "none":
            return [{"type": "text", "text": "no"}], "end_turn", usage
        block = compaction(seen_words(body))
        condensed[block.get("signature")] = body["messages"]
        return [block], "compaction", {"input_tokens": 0, "output_tokens": 0,
                                       "iterations": [{"type": "compaction", **usage}]}
    content, kept = [], body["messages"]
    if threshold and size(body["messages"]) > threshold:
        block = compaction(seen_words(body))
        content.append(block)
        kept = [] if digest(block) in made else kept
        iterations = [{"type": "compaction", "input_tokens": size(body), "output_tokens": 100}, {"type": "message", "input_tokens": 500, "output_tokens": 10}]
        usage = {"input_tokens": 500, "output_tokens": 10, "iterations": iterations}
    words, step = seen_words(body), wanted(body)
    proof = {"p": prefix(body, kept), "m": body["model"]}
    content.append({"type": "thinking", "thinking": "hm", "signature": base64.b64encode(json.dumps(proof).encode()).decode()})
    if step.startswith("call "):
        _, name, arguments = step.split(" ", 2)
        content.append({"type": "tool_use", "id": "toolu_%d" % state["n"], "name": name, "input": json.loads(arguments)})
        return content, "tool_use", usage
    content.append({"type": "text", "text": "words: " + " ".join(words)})
    return content, "end_turn", usage


def anthropic_events(body, content, stop, usage):
    yield {"type": "message_start", "message": {"id": "msg_%d" % state["n"], "type": "message", "role": "assistant", "model": body["model"],
                                                "content": [], "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}}
    for i, b in enumerate(content):
        deltas = []
        start = b
        if b["type"] == "thinking":
            start = {"type": "thinking", "thinking": "", "signature": ""}
            deltas = [{"type": "thinking_delta", "thinking": b["thinking"]}, {"type": "signature_delta", "signature": b["signature"]}]
        elif b["type"] == "text":
            start = {"type": "text", "text": ""}
            deltas = [{"type": "text_delta", "text": b["text"]}]
        elif b["type"] == "tool_use":
            start = {**b, "input": {}}
            deltas = [{"type": "input_json_delta", "partial_json": json.dumps(b["input"])}]
        yield {"type": "content_block_start", "index": i, "content_block": start}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": i, "delta": delta}
        yield {"type": "content_block_stop", "index": i}
    yield {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage}
    yield {"type": "message_stop"}


# --- OpenAI


def item_text(item):
    content = item.get("content", "")
    return content if isinstance(content, str) else "\n".join(p.get("text", "") for p in content)


def check_items(items):
    open_calls, reasoning = {}, None
    for i, item in enumerate(items):
        kind = item.get("type", "message")
        need(kind in ("message", "reasoning", "function_call", "function_call_output", "compaction"), "Invalid value: '%s'." % kind)
        if kind == "compaction":
            need(isinstance(item.get("encrypted_content"), str) and item["encrypted_content"], "Missing required parameter: 'input[%d].encrypted_content'." % i)
            need(digest(item) in made, "The encrypted content could not be verified.")
        if kind == "function_call":
            open_calls[item["call_id"]] = i
        if kind == "function_call_output":
            need(open_calls.pop(item["call_id"], None) is not None, "No tool call found for function call output with call_id %s." % item["call_id"])
        if reasoning is not None:
            need(kind in ("function_call", "message", "reasoning"), "Item 'rs_%d' of type 'reasoning' was provided without its required following item." % i)
        reasoning = i if kind == "reasoning" else None
    need(not open_calls, "No tool output found for function call.")


def openai_words(items):
    words = []
    for item in items:
        if item.get("type") == "compaction":
            words = list(made[digest(item)])
        elif item.get("role") == "user":
            words += [w for w in words_in(item_text(item)) if w not in words]
    return words


def openai_item(words):
    if state["mode"] in ("null", "broken"):
        return {"id": "cmp_%d" % state["n"], "type": "compaction", "encrypted_content": None if state["mode"] == "null" else 7}
    item = {"id": "cmp_%d" % state["n"], "type": "compaction", "encrypted_content": base64.b64encode((" ".join(words)).encode()).decode() + "%d" % state["n"]}
    made[digest(item)] = words
    return item


def openai_compact(body):
    need(state["mode"] != "refuse", "compaction is not supported for this model")
    for member in body:
        need(member in ("model", "input", "instructions", "previous_response_id", "prompt_cache_key", "prompt_cache_retention"), "Unknown parameter: '%s'." % member)
    check_items(body["input"])
    output = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": item_text(i)[:60]}]}
              for i in body["input"] if i.get("role") == "user"]
    if state["mode"] != "none":
        output.append(openai_item(openai_words(body["input"])))
    return {"id": "resp_%d" % state["n"], "object": "response.compaction", "created_at": 1, "output": output,
            "usage": {"input_tokens": size(body), "output_tokens": 50, "total_tokens": size(body) + 50}}


def openai(body):
    check_items(body["input"])
    need(body.get("store") is False, "store")
    output, threshold = [], None
    for entry in body.get("context_management", []):
        need(state["mode"] != "refuse", "Unknown parameter: 'context_management'.")
        need(set(entry) == {"type", "compact_threshold"} and entry["type"] == "compaction" and entry["compact_threshold"] >= 1000, "context_management")
        threshold = entry["compact_threshold"]
    words = openai_words(body["input"])
    if threshold and size(body["input"]) > threshold:
        output.append(openai_item(words))
    text, done = "talk", 0
    for item in body["input"]:
        if item.get("role") == "user" and "Summary of the conv" not in item_text(item):
            text, done = call_of(item_text(item)), 0
        done += item.get("type") == "function_call_output"
    step = plan(text, done)
    output.append({"type": "reasoning", "id": "rs_%d" % state["n"], "summary": [], "encrypted_content": "r%d" % state["n"]})
    if step.startswith("call "):
        _, name, arguments = step.split(" ", 2)
        output.append({"type": "function_call", "id": "fc_%d" % state["n"], "call_id": "call_%d" % state["n"], "name": name, "arguments": arguments, "status": "completed"})
    else:
        output.append({"type": "message", "id": "msg_%d" % state["n"], "role": "assistant", "status": "completed",
                       "content": [{"type": "output_text", "text": "words: " + " ".join(words), "annotations": []}]})
    return {"id": "resp_%d" % state["n"], "object": "response", "status": "completed", "model": body["model"], "output": output,
            "usage": {"input_tokens": size(body), "output_tokens": 10, "total_tokens": size(body) + 10}}


def openai_events(reply):
    yield {"type": "response.created", "response": {**reply, "status": "in_progress", "output": []}}
    for i, item in enumerate(reply["output"]):
        yield {"type": "response.output_item.added", "output_index": i, "item": item}
        yield {"type": "response.output_item.done", "output_index": i, "item": item}
    yield {"type": "response.completed", "response": reply}


# --- HTTP


def holds_compaction(items):
    return any(is_compaction(b) for i in items for b in [i] + (i["content"] if isinstance(i.get("content"), list) else []))


class Service(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, kind, data):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        try:
            self.wfile.write(data)
        except OSError:  # the client was killed
            self.close_connection = True

    def stream(self, events):
        lines = "".join("event: %s\ndata: %s\n\n" % (e["type"], json.dumps(e)) for e in events)
        self.answer(200, "text/event-stream", lines.encode())

    def note(self, body, status, complaint):
        text, items = json.dumps(body), body.get("messages", body.get("input", []))
        log.write(json.dumps({"path": self.path, "status": status, "complaint": complaint, "tokens": size(items), "n": len(items),
                              "holds": holds_compaction(items), "asks": [k for k in ("compaction", "context_management") if k in body],
                              "text": "Summary of the conv" in text}) + "\n")

    def serve(self, body):
        betas = self.headers.get("anthropic-beta", "").split(",")
        if self.path == "/v1/messages":
            return anthropic_events(body, *anthropic(body, betas))
        if self.path == "/v1/responses/compact":
            return openai_compact(body)
        need(self.path == "/v1/responses", "no such path")
        return openai_events(openai(body))

    def do_POST(self):
        data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path.startswith("/mode/"):
            state["mode"] = self.path[6:]
            self.answer(200, "text/plain", b"")
            return
        body = json.loads(data)
        if state["mode"] == "hold" and holds_compaction(body.get("messages", body.get("input"))):
            log.write(json.dumps({"held": True}) + "\n")
            while state["mode"] == "hold":
                time.sleep(0.05)
        with lock:
            state["n"] += 1
            try:
                reply = self.serve(body)
                self.note(body, 200, "")
                if isinstance(reply, dict):
                    self.answer(200, "application/json", json.dumps(reply).encode())
                else:
                    self.stream(reply)
            except Refused as refusal:
                self.note(body, 400, str(refusal))
                error = {"type": "error", "error": {"type": "invalid_request_error", "message": str(refusal), "param": None, "code": None}}
                self.answer(400, "application/json", json.dumps(error).encode())


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Service)
print(server.server_address[1], flush=True)
server.serve_forever()
