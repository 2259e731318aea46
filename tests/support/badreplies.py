#!/usr/bin/env python3
"""badreplies.py -- replies of model services with a fault each, as conversations of llmserver.

    badreplies.py API FOLDER      writes FOLDER/NAME.json, prints the table of expectations

A row of the table: NAME FLAGS EXIT REASON REQUESTS RESULTS TEXT LINE, separated by tabs.
  EXIT, REASON   of the first run; a regular expression each
  REQUESTS       requests of the first run: more than needed would be paid for twice
  RESULTS        tool results of the first run, "e" for an error, "o" for success
  TEXT           the run's answer; a regular expression
  LINE           the one line on stderr; a regular expression, "-": no line
After the replies with the fault, each conversation has the reply "fine" without end. The bodies are
written here and not by llmserver, so that the fault may be anywhere in the bytes. A name is absent
if the protocol has no place for the fault.
"""
import gzip
import json
import struct
import sys
import zlib

API, FOLDER = sys.argv[1], sys.argv[2]
BEDROCK, GEMINI, INTERACTIONS, ANTHROPIC, RESPONSES = (API == n for n in ("bedrock", "gemini", "interactions", "anthropic", "openai-responses"))
CHAT = not (BEDROCK or GEMINI or INTERACTIONS or ANTHROPIC or RESPONSES)
TYPE = "application/vnd.amazon.eventstream" if BEDROCK else "text/event-stream"


def frame(headers, payload):
    head = b"".join(struct.pack(">B", len(k)) + k.encode() + b"\x07" + struct.pack(">H", len(v)) + v.encode() for k, v in headers)
    prelude = struct.pack(">II", len(head) + len(payload) + 16, len(head))
    message = prelude + struct.pack(">I", zlib.crc32(prelude)) + head + payload
    return message + struct.pack(">I", zlib.crc32(message))


def event(name, data):
    """One event; data as a string is sent as it is."""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    if BEDROCK:
        return frame([(":event-type", name), (":content-type", "application/json"), (":message-type", "event")], text.encode())
    return ((f"event: {name}\n" if name and (ANTHROPIC or RESPONSES or INTERACTIONS) else "") + f"data: {text}\n\n").encode()


def chunk(delta, finish=None, **more):
    return event(None, {"id": "c1", "object": "chat.completion.chunk", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more})


def part(*parts, finish=None, usage=None):
    one = {"index": 0, **({"content": {"role": "model", "parts": list(parts)}} if parts else {}), **({"finishReason": finish} if finish else {})}
    return event(None, {"candidates": [one], "modelVersion": "m", **({"usageMetadata": usage} if usage else {})})


def respond(kind, **data):
    return event(kind, {"type": kind, **data})


def interact(kind, **data):
    return event(kind, {**data, "event_type": kind})


class Stream:
    """Builds a reply; `out` is the list of its events."""

    def __init__(self, usage=True):
        self.out, self.items, self.n, self.calls = [], [], 0, 0
        self.usage = usage
        if ANTHROPIC:
            start = {"input_tokens": 10, "output_tokens": 1} if usage is True else usage
            self.add(event("message_start", {"type": "message_start", "message": {
                "id": "m1", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None, **({"usage": start} if start else {})}}))
        elif RESPONSES:
            self.add(respond("response.created", response={"id": "r1", "status": "in_progress", "output": []}))
        elif INTERACTIONS:
            self.add(interact("interaction.created", interaction={"id": "v1_1", "status": "in_progress", "model": "m"}))
        elif BEDROCK:
            self.add(event("messageStart", {"role": "assistant"}))
        elif CHAT:
            self.add(chunk({"role": "assistant", "content": ""}))

    def add(self, data):
        self.out.append(data)
        return self

    def block(self, start, deltas):
        self.add(event("content_block_start", {"type": "content_block_start", "index": self.n, "content_block": start}))
        for d in deltas:
            self.add(event("content_block_delta", {"type": "content_block_delta", "index": self.n, "delta": d}))
        self.add(event("content_block_stop", {"type": "content_block_stop", "index": self.n}))
        self.n += 1
        return self

    def item(self, item, deltas, final):
        self.add(respond("response.output_item.added", output_index=self.n, item=item))
        for kind, delta in deltas:
            self.add(respond(kind, output_index=self.n, item_id=item.get("id"), content_index=0, summary_index=0, delta=delta))
        self.add(respond("response.output_item.done", output_index=self.n, item={**item, **final}))
        self.items.append({**item, **final})
        self.n += 1
        return self

    def step(self, step, *deltas):
        self.add(interact("step.start", index=self.n, step=step))
        for d in deltas:
            self.add(interact("step.delta", index=self.n, delta=d))
        self.add(interact("step.stop", index=self.n))
        self.n += 1
        return self

    def deltas(self, *list_of):
        for d in list_of:
            self.add(event("contentBlockDelta", {"contentBlockIndex": self.n, "delta": d}))
        self.add(event("contentBlockStop", {"contentBlockIndex": self.n}))
        self.n += 1
        return self

    def text(self, *pieces):
        if ANTHROPIC:
            return self.block({"type": "text", "text": ""}, [{"type": "text_delta", "text": p} for p in pieces])
        if RESPONSES:
            return self.item({"id": f"msg_{self.n}", "type": "message", "role": "assistant", "content": []},
                             [("response.output_text.delta", p) for p in pieces], {"content": [{"type": "output_text", "text": "".join(pieces), "annotations": []}]})
        if BEDROCK:
            return self.deltas(*({"text": p} for p in pieces))
        if INTERACTIONS:
            return self.step({"type": "model_output"}, *({"type": "text", "text": p} for p in pieces))
        for p in pieces:
            self.add(part({"text": p}) if GEMINI else chunk({"content": p}))
        return self

    def think(self, text):
        if ANTHROPIC:
            return self.block({"type": "thinking", "thinking": "", "signature": ""}, [{"type": "thinking_delta", "thinking": text}])
        if RESPONSES:
            return self.item({"id": f"rs_{self.n}", "type": "reasoning", "summary": []}, [("response.reasoning_summary_text.delta", text)],
                             {"summary": [{"type": "summary_text", "text": text}]})
        if BEDROCK:
            return self.deltas({"reasoningContent": {"text": text}})
        if INTERACTIONS:
            return self.step({"type": "thought"}, {"type": "thought_summary", "content": {"type": "text", "text": text}})
        return self.add(part({"text": text, "thought": True}) if GEMINI else chunk({"reasoning_content": text}))

    def call(self, name, args, ident="call_1"):
        """ident None: the member is absent; args: JSON as text."""
        named = {} if ident is None else {"id": ident}
        self.calls += 1
        if ANTHROPIC:
            return self.block({"type": "tool_use", **named, "name": name, "input": {}}, [{"type": "input_json_delta", "partial_json": p} for p in (args[:4], args[4:])])
        if RESPONSES:
            base = {"id": f"fc_{self.n}", "type": "function_call", "name": name, "arguments": "", **({} if ident is None else {"call_id": ident})}
            return self.item(base, [("response.function_call_arguments.delta", args)], {"arguments": args, "status": "completed"})
        if BEDROCK:
            start = {"name": name, **({} if ident is None else {"toolUseId": ident})}
            self.add(event("contentBlockStart", {"contentBlockIndex": self.n, "start": {"toolUse": start}}))
            return self.deltas({"toolUse": {"input": args[:4]}}, {"toolUse": {"input": args[4:]}})
        if INTERACTIONS:
            return self.step({"type": "function_call", **named, "name": name, "arguments": {}}, *({"type": "arguments_delta", "arguments": p} for p in (args[:4], args[4:])))
        if GEMINI:
            text = json.dumps({"functionCall": {"name": name, "args": "@", **named}}).replace('"@"', args)
            return self.add(event(None, '{"candidates":[{"index":0,"content":{"role":"model","parts":[' + text + ']}}],"modelVersion":"m"}'))
        index = self.calls - 1
        self.add(chunk({"tool_calls": [{"index": index, **named, "type": "function", "function": {"name": name, "arguments": args[:4]}}]}))
        return self.add(chunk({"tool_calls": [{"index": index, "function": {"arguments": args[4:]}}]}))

    def unknown(self):
        """What no client knows: a block, an event, a member."""
        if ANTHROPIC:
            self.block({"type": "hologram", "data": {"x": [1]}}, [{"type": "hologram_delta", "data": "?"}])
            return self.add(event("weather", {"type": "weather", "sun": True}))
        if RESPONSES:
            self.item({"id": f"ho_{self.n}", "type": "hologram", "data": {"x": [1]}}, [], {"status": "completed"})
            return self.add(respond("response.weather.delta", delta={"sun": True}))
        if BEDROCK:
            self.deltas({"hologram": {"x": [1]}})
            return self.add(event("weather", {"sun": True}))
        if INTERACTIONS:
            self.step({"type": "hologram", "data": {"x": [1]}}, {"type": "hologram_delta", "data": {"y": 2}})
            return self.add(interact("weather", sun=True))
        if GEMINI:
            return self.add(part({"hologram": {"x": [1]}}))
        return self.add(chunk({"hologram": {"x": [1]}, "content": None})).add(event(None, {"object": "weather", "choices": []}))

    def error(self, kind):
        overloaded = kind == "overloaded"
        blocked = kind == "blocked"
        message = "Overloaded" if overloaded else "Output blocked by content filtering policy" if blocked else "a field is wrong"
        if ANTHROPIC:
            return self.add(event("error", {"type": "error", "error": {"type": "overloaded_error" if overloaded else "invalid_request_error", "message": message}}))
        if RESPONSES:
            return self.add(respond("response.failed", response={"id": "r1", "status": "failed", "output": [], "error": {
                "code": "server_is_overloaded" if overloaded else "content_filter" if blocked else "invalid_image", "message": message}}))
        if BEDROCK:
            name = "serviceUnavailableException" if overloaded else "validationException"
            return self.add(frame([(":exception-type", name), (":content-type", "application/json"), (":message-type", "exception")], json.dumps({"message": message}).encode()))
        if INTERACTIONS:
            code = "service_unavailable" if overloaded else "prohibited_content" if blocked else "invalid_request"
            return self.add(interact("error", error={"code": code, "message": message}))
        if GEMINI:
            return self.add(event(None, {"error": {"code": 503 if overloaded else 400, "message": message, "status": "UNAVAILABLE" if overloaded else "INVALID_ARGUMENT"}}))
        return self.add(event(None, {"error": {"message": message, "code": 529 if overloaded else 400, "type": "server_error" if overloaded else "invalid_request_error"}}))

    def end(self, stop=None, finish=True, done=True):
        """finish: the stop reason is sent; done: the last marker of the stream."""
        stop = stop or ("tool_use" if self.calls else "stop")
        u = self.usage
        if ANTHROPIC:
            name = {"stop": "end_turn", "length": "max_tokens", "refusal": "refusal"}.get(stop, stop)
            last = {"output_tokens": 5} if u is True else u
            if finish:
                self.add(event("message_delta", {"type": "message_delta", "delta": {"stop_reason": name}, **({"usage": last} if last else {})}))
            return self.add(event("message_stop", {"type": "message_stop"})) if done else self
        if RESPONSES:
            status = "incomplete" if stop in ("length", "refusal") else "completed"
            details = {"reason": {"length": "max_output_tokens", "refusal": "content_filter"}[stop]} if status == "incomplete" else None
            usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15} if u is True else u
            return self.add(respond(f"response.{status}", response={
                "id": "r1", **({"status": status} if finish else {}), "incomplete_details": details, "output": self.items, **({"usage": usage} if usage else {})})) if done else self
        if BEDROCK:
            name = {"stop": "end_turn", "length": "max_tokens", "refusal": "content_filtered"}.get(stop, stop)
            if finish:
                self.add(event("messageStop", {"stopReason": name}))
            usage = {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15} if u is True else u
            return self.add(event("metadata", {**({"usage": usage} if usage else {}), "metrics": {"latencyMs": 1}})) if done else self
        if INTERACTIONS:
            name = {"stop": "completed", "tool_use": "requires_action", "length": "incomplete"}.get(stop, stop)
            if stop == "refusal":
                return self.add(interact("error", error={"code": "safety", "message": "blocked"}))
            usage = {"total_input_tokens": 10, "total_output_tokens": 5} if u is True else u
            return self.add(interact("interaction.completed", interaction={"id": "v1_1", **({"status": name} if finish else {}), **({"usage": usage} if usage else {})})) if done else self
        if GEMINI:
            name = {"stop": "STOP", "tool_use": "STOP", "length": "MAX_TOKENS", "refusal": "SAFETY"}.get(stop, stop)
            usage = {"promptTokenCount": 10, "candidatesTokenCount": 5} if u is True else u
            return self.add(part(finish=name if finish else None, usage=usage))
        name = {"tool_use": "tool_calls", "refusal": "content_filter"}.get(stop, stop)
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15} if u is True else u
        if finish:
            self.add(chunk({}, name))
        if usage:
            self.add(event(None, {"choices": [], "usage": usage}))
        return self.add(b"data: [DONE]\n\n") if done else self

    def bytes(self):
        return b"".join(self.out)


def reply(data, kind=TYPE, **more):
    data = data.bytes() if isinstance(data, Stream) else data
    return {"content_type": kind, "body": {"hex": data.hex()}, **more}


def failure(status, **more):
    return {"error": {"status": status, **({"retry_after": "0"} if more.pop("after", False) else {})}, **more}


ROWS = []
FINE = reply(Stream().text("fine").end())


# Ollama has the codec of Chat Completions: the rows in which its settings may matter.
OLLAMA = ("cut-", "no-", "same-", "odd-", "empty", "reasoning", "unknown-block", "status-503", "usage-missing")


def row(name, replies, status=0, reason="task_completed", requests=1, results="", text=".", line="-", flags="-"):
    if API == "ollama" and not name.startswith(OLLAMA):
        return
    with open(f"{FOLDER}/bad-{API}-{name}.json", "w", encoding="utf-8") as f:
        json.dump({"repeat": True, "replies": [*replies, FINE]}, f)
    ROWS.append("\t".join(str(x) for x in (name, flags, status, reason, requests, results or "-", text, line)))


REFUSED = {"status": 6, "reason": "refused", "text": ".", "line": "refused: "}
FAILS = {"status": 1, "reason": "model_error", "text": "^", "line": "."}
WORDS = Stream().text("one ", "two ", "three ")
CALL = ("calculate", '{"expression":"1+1"}')

# --- the connection goes silent
whole = Stream().text("one ", "two ", "thr\u00e9\u00e9\u00e9").bytes()
row("cut-event", [reply(whole, cut=len(WORDS.out[0] + (WORDS.out[1] + WORDS.out[2] if not GEMINI else WORDS.out[1])) + (20 if GEMINI else 90))], **FAILS)
row("cut-letter", [reply(whole, cut=whole.rfind(b"\xc3") + 1)], **FAILS)
half = Stream().call("write", '{"file_path":"a.txt","content":"half"}').bytes()
row("cut-arguments", [reply(half, cut=half.rfind(b"half") + 2)], requests=2, text="^fine$")
row("cut-first-byte", [reply(half, cut=1)], requests=2, text="^fine$")
row("end-without-marker", [reply(Stream().text("one"))], **FAILS)
row("call-without-marker", [reply(Stream().call(*CALL))], requests=2, text="^fine$")
row("no-answer", [{"wire_garbage": True}], requests=2, text="^fine$")

# --- markers that are missing
if CHAT:
    row("no-done", [reply(Stream().text("whole").end(done=False))], text="^whole$")
    row("no-finish", [reply(Stream().text("whole").end(finish=False))], text="^whole$")
    row("no-finish-call", [reply(Stream().call(*CALL).end(finish=False))], requests=2, results="o", text="^fine$")
if ANTHROPIC:
    row("no-finish", [reply(Stream().text("whole").end(finish=False))], text="^whole$")
if BEDROCK:
    row("no-metadata", [reply(Stream().text("whole").end(done=False))], text="^whole$")
if RESPONSES or INTERACTIONS:
    row("no-status", [reply(Stream().text("whole").end(finish=False))], text="^whole$")

# --- replies without an answer
row("empty", [reply(Stream().end())], requests=2, text="^fine$")
row("blank", [reply(Stream().text("  \n").end())], requests=2, text="^fine$")
row("reasoning-only", [reply(Stream().think("Hm.").end())], requests=2, text="^fine$")
row("length-without-text", [reply(Stream().think("Hm.").end("length"))], requests=2, text="^fine$")
row("refusal", [reply(Stream().text("No.").end("refusal"))], **REFUSED)
row("refusal-of-nothing", [reply(Stream().end("refusal"))], **{**REFUSED, "text": "^"})
row("refusal-after-text", [reply(Stream().text("one ", "two ").end("refusal"))], **{**REFUSED, "text": "^one two "})
row("blocked-after-text", [reply(Stream().text("one ", "two ").error("blocked"))], **{**REFUSED, "text": "^one two "})
if GEMINI:
    row("blocked-prompt", [reply(event(None, {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "modelVersion": "m"}))], **{**REFUSED, "text": "^"})
elif INTERACTIONS:
    row("blocked-prompt", [reply(json.dumps({"error": {"code": "prohibited_content", "message": "blocked"}}).encode(), "application/json", status=400)], **{**REFUSED, "text": "^"})
    row("framed-error", [reply(interact("error", error={"code": "invalid_request", "message": "a field is wrong"}), status=400)], **{**FAILS, "line": "a field is wrong"})
else:
    body = {"type": "error", "error": {"type": "invalid_request_error", "message": "Output blocked by content filtering policy"}}
    row("blocked-prompt", [reply(json.dumps(body).encode(), "application/json", status=400)], **{**REFUSED, "text": "^"})
row("unknown-stop", [reply(Stream().text("whole").end("sunset"))], text="^whole$")

# --- calls
row("same-ids", [reply(Stream().call(*CALL).call("calculate", '{"expression":"2+2"}').end())], requests=2, results="oo", text="^fine$")
row("same-ids-later", [reply(Stream().call(*CALL).end()), reply(Stream().call(*CALL).end())], requests=3, results="oo", text="^fine$")
row("no-ids", [reply(Stream().call(*CALL, None).call(*CALL, None).end())], requests=2, results="oo", text="^fine$")
row("empty-ids", [reply(Stream().call(*CALL, "").call(*CALL, "").end())], requests=2, results="oo", text="^fine$")
row("odd-ids", [reply(Stream().call(*CALL, "a b\u00e9:" + "x" * 300).end())], requests=2, results="o", text="^fine$")
row("no-name", [reply(Stream().call("", "{}").end())], requests=2, results="e", text="^fine$")
row("odd-name", [reply(Stream().call("sys.exec \u00e9", "{}").end())], requests=2, results="e", text="^fine$")
if not GEMINI:
    row("arguments-not-json", [reply(Stream().call("calculate", '{"expression": 1 +').end())], requests=2, results="e", text="^fine$")
    row("arguments-cut", [reply(Stream().call("write", '{"file_path":"a.txt","content":"ha').end("length"))], requests=2, results="e", text="^fine$")
    row("arguments-empty", [reply(Stream().call("ls", "").end())], requests=2, results="o", text="^fine$")
row("arguments-list", [reply(Stream().call("calculate", '["1+1"]').end())], requests=2, results="e", text="^fine$")
row("call-with-stop", [reply(Stream().call(*CALL).end("stop"))], requests=2, results="o", text="^fine$")
row("stop-without-call", [reply(Stream().text("whole").end("tool_use"))], text="^whole$")

# --- errors
row("error-in-stream", [reply(Stream().error("overloaded"))], requests=2, text="^fine$")
row("refused-in-stream", [reply(Stream().error("invalid"))], **{**FAILS, "line": "a field is wrong"})
row("error-after-text", [reply(Stream().text("one ", "two ").error("overloaded"))], **{**FAILS, "line": "[Oo]verloaded", "text": "^one two "})
row("refused-after-text", [reply(Stream().text("one ").error("invalid"))], **{**FAILS, "line": "a field is wrong"})
row("error-after-call", [reply(Stream().call(*CALL).error("overloaded"))], requests=2, text="^fine$")
row("refused-in-loop", [reply(Stream().call(*CALL).end()), failure(400)], **{**FAILS, "requests": 2, "results": "o"})
if not BEDROCK:
    body = {"type": "error", "error": {"type": "invalid_request_error", "message": "a field is wrong", "code": 400, "status": "INVALID_ARGUMENT"}}
    row("error-with-200", [reply(json.dumps(body).encode(), "application/json")], **{**FAILS, "line": "a field is wrong"})
for status in (429, 503, 529):
    row(f"status-{status}-after", [failure(status, after=True)], requests=2, text="^fine$")
    row(f"status-{status}", [failure(status)], requests=2, text="^fine$")
row("status-500", [failure(500)], requests=2, text="^fine$")
row("status-418", [{"status": 418, "content_type": "text/plain", "body": "I am a teapot"}], **{**FAILS, "line": "(418|teapot)"})
row("retry-after-nonsense", [{**failure(429), "headers": {"Retry-After": "-1e999, yesterday"}}], requests=2, text="^fine$")

# --- bodies of another kind
row("html", [reply(b"<html><body>Log in</body></html>", "text/html")], **FAILS)
row("html-as-stream", [reply(b"<html><body>Log in</body></html>")], **FAILS)
row("plain-type", [reply(Stream().text("whole").end(), "text/plain")], text="^whole$")
row("json-type", [reply(Stream().text("whole").end(), "application/json")], text="^whole$")
row("octet-type", [reply(Stream().text("whole").end(), "application/octet-stream")], text="^whole$")
row("gzip", [reply(gzip.compress(Stream().text("whole").end().bytes()), headers={"Content-Encoding": "gzip"})], **{**FAILS, "line": "compressed .gzip"})
row("gzip-refusal", [reply(gzip.compress(b"{}"), status=400, headers={"Content-Encoding": "gzip"})], **{**FAILS, "line": "compressed .gzip"})
row("deflate", [reply(zlib.compress(Stream().text("whole").end().bytes()), headers={"Content-Encoding": "deflate"})], **{**FAILS, "line": "compressed .deflate"})
row("br", [reply(b"\x1b\x2a\x00\xf8\x8d\x94\x6e\xda", headers={"Content-Encoding": "br"})], **{**FAILS, "line": "compressed .br"})
row("not-encoded", [reply(b"\xff\xfe", headers={"Content-Encoding": "identity"})], requests=2, text="^fine$")
row("gzip-announced", [reply(Stream().text("whole").end(), headers={"Content-Encoding": "gzip"})], text="^whole$")
if not BEDROCK:
    row("bare-data", [reply(Stream().add(b"data: null\n\ndata: 7\n\ndata: []\n\ndata:\n\n: note\n\nid: 5\nretry: x\n\n").text("whole").end())], text="^whole$")
    row("half-event", [reply(Stream().add(b"data: {\n\n").text("whole").end())], requests=2, text="^fine$")
    row("bom-crlf", [reply(b"\xef\xbb\xbf" + Stream().text("whole").end().bytes().replace(b"\n", b"\r\n"))], text="^whole$")
    row("bare-cr", [reply(Stream().text("whole").end().bytes().replace(b"\n", b"\r"))], text="^whole$")

# --- counts
ODD = {"openai-responses": ("input_tokens", "output_tokens"), "anthropic": ("input_tokens", "output_tokens"), "gemini": ("promptTokenCount", "candidatesTokenCount"),
       "interactions": ("total_input_tokens", "total_output_tokens"),
       "bedrock": ("inputTokens", "outputTokens")}.get(API, ("prompt_tokens", "completion_tokens"))
for name, usage in (("missing", None), ("negative", {ODD[0]: -7, ODD[1]: -9}), ("huge", {ODD[0]: 9223372036854775807, ODD[1]: 1 << 70}),
                    ("fraction", {ODD[0]: 1.5, ODD[1]: "5"}), ("null", {ODD[0]: None, ODD[1]: None}), ("list", {ODD[0]: [], ODD[1]: {}})):
    row(f"usage-{name}", [reply(Stream(usage).text("whole").end())], text="^whole$")

# --- elements that no client knows
row("unknown-block", [reply(Stream().unknown().text("whole").unknown().end())], text="^whole$")
row("unknown-block-in-loop", [reply(Stream().unknown().call(*CALL).end())], requests=2, results="o", text="^fine$")
row("unknown-block-only", [reply(Stream().unknown().end())], requests=2, text="^fine$")
if CHAT:
    row("null-everywhere", [reply(Stream().add(chunk(None)).add(event(None, {"choices": None})).add(chunk({"content": None, "tool_calls": None, "role": None})).text("whole").end())], text="^whole$")
    row("wrong-kinds", [reply(Stream().add(chunk({"content": 5, "tool_calls": {}})).add(event(None, {"choices": "none"})).text("whole").end())], text=".")
    row("no-index", [reply(Stream().add(chunk({"tool_calls": [{"id": "c1", "type": "function", "function": {"name": CALL[0], "arguments": CALL[1]}}]})).end("tool_use"))], requests=2, results="o", text="^fine$")
if ANTHROPIC:
    row("two-messages", [reply(Stream().call(*CALL).add(Stream().call(*CALL).end().bytes().replace(b'"m1"', b'"m2"')))], requests=2, text="^fine$")
    row("delta-of-no-block", [reply(Stream().add(event("content_block_delta", {"type": "content_block_delta", "index": 7, "delta": {"type": "text_delta", "text": "x"}})).text("whole").end())], text="whole$")
if BEDROCK:
    spoilt = bytearray(Stream().text("whole").end().bytes())
    spoilt[-20] ^= 1
    row("wrong-checksum", [reply(bytes(spoilt))], **FAILS)

# --- forms of single vendors: nothing is lost, and nothing is paid for twice
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
if CHAT:
    both = {"id": "c1", "object": "chat.completion.chunk", "model": "m", "choices": [
        {"index": 0, "delta": {"role": "assistant", "content": ""}, "message": {"role": "assistant", "content": "whole"}, "finish_reason": "stop"}]}
    row("whole-beside-delta", [reply(event(None, both) + b"data: [DONE]\n\n")], text="^whole$")
    row("error-line", [reply(b'error: {"code":503,"message":"Overloaded"}\n\n')], requests=2, text="^fine$")
    row("picture-alone", [reply(Stream().add(chunk({"images": [{"type": "image_url", "image_url": {"url": "data:image/png;base64," + PNG}}]})).end())], text="^")
    row("picture-beside-text", [reply(Stream().text("whole").add(chunk({"images": [{"type": "image_url", "image_url": {"url": "data:image/png;base64," + PNG}}]})).end())], text="^whole")
if RESPONSES:
    late = {"id": "msg_0", "type": "message", "role": "assistant", "content": []}
    final = {**late, "content": [{"type": "output_text", "text": "whole", "annotations": []}]}
    row("later-content-index", [reply(Stream().add(respond("response.output_item.added", output_index=0, item=late))
        .add(respond("response.content_part.added", output_index=0, item_id="msg_0", content_index=1, part={"type": "output_text", "text": ""}))
        .add(respond("response.output_text.delta", output_index=0, item_id="msg_0", content_index=1, delta="whole"))
        .add(respond("response.output_text.done", output_index=0, item_id="msg_0", content_index=1, text="whole"))
        .add(respond("response.output_item.done", output_index=0, item=final)).end())], text="^whole$")
    row("picture-alone", [reply(Stream().item({"id": "ig_0", "type": "image_generation_call", "status": "in_progress"}, [], {"status": "completed", "result": PNG}).end())], text="^")
    row("vendor-tool", [reply(Stream().item({"id": "ws_0", "type": "web_search_call", "status": "in_progress"}, [], {"status": "completed", "action": {"type": "search", "query": "x"}}).text("whole").end())], text="^whole$")
if GEMINI:
    row("tool-prompt-tokens", [reply(Stream({"promptTokenCount": 10, "candidatesTokenCount": 5, "toolUsePromptTokenCount": 7}).text("whole").end())], text="^whole$")
    row("picture-alone", [reply(Stream().add(part({"inlineData": {"mimeType": "image/png", "data": PNG}})).end())], text="^")
    row("vendor-tool", [reply(Stream().add(part({"executableCode": {"language": "PYTHON", "code": "1+1"}})).add(part({"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2"}})).text("whole").end())], text="whole$")
if INTERACTIONS:
    row("tool-prompt-tokens", [reply(Stream({"total_input_tokens": 10, "total_output_tokens": 5, "total_tool_use_tokens": 7}).text("whole").end())], text="^whole$")
    row("picture-alone", [reply(Stream().step({"type": "model_output"}, {"type": "image", "mime_type": "image/png", "data": PNG}).end())], text="^")
    row("content-at-the-start", [reply(Stream().step({"type": "model_output", "content": [{"type": "text", "text": "who"}]}, {"type": "text", "text": "le"}).end())], text="^whole$")
    row("vendor-tool", [reply(Stream().step({"type": "code_execution_call", "id": "c1", "arguments": {}}, {"type": "code_execution_call", "arguments": {"language": "python", "code": "1+1"}, "signature": "s"})
        .step({"type": "code_execution_result", "call_id": "c1", "result": "2", "signature": "s"}).text("whole").end())], text="whole$")
    row("delta-of-no-step", [reply(Stream().add(interact("step.delta", index=7, delta={"type": "text", "text": "whole"})).end())], text="^whole$")
    row("delta-of-far-step", [reply(Stream().add(interact("step.delta", index=1 << 40, delta={"type": "text", "text": "x"})).end())], **FAILS)
    row("step-twice", [reply(Stream().call(*CALL).add(interact("step.start", index=0, step={"type": "model_output", "content": [{"type": "text", "text": "x"}]})).end())], requests=2, results="o", text="^fine$")
    row("failed-status", [reply(Stream().add(interact("interaction.status_update", interaction_id="v1_1", status="failed")))], requests=2, text="^fine$")
    row("failed-step", [reply(Stream().step({"type": "model_output", "error": {"code": 3, "message": "it broke"}}).end())], requests=2, text="^fine$")
    row("bad-generation", [reply(Stream().add(interact("error", error={"code": "malformed_function_call", "message": "not a call"})))], requests=2, text="^fine$")
    row("quota", [reply(json.dumps({"error": {"code": "quota_exceeded", "message": "You exceeded your current quota, please check your plan and billing details."}}).encode(), "application/json", status=429)], **{**FAILS, "line": "quota"})
if ANTHROPIC:
    written = {"input_tokens": 10, "output_tokens": 1, "cache_creation_input_tokens": 9, "cache_creation": {"ephemeral_5m_input_tokens": 4, "ephemeral_1h_input_tokens": 5}}
    row("cache-writes", [reply(Stream(written).text("whole").end())], text="^whole$")
    row("vendor-tool", [reply(Stream().block({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}, [{"type": "input_json_delta", "partial_json": '{"query":"x"}'}])
        .block({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}, []).text("whole").end())], text="^whole$")
if BEDROCK:
    typed = {"output": {"message": {"role": "assistant", "content": [{"type": "text", "text": "whole"}]}}, "stopReason": "end_turn", "usage": {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15}}
    row("typed-blocks", [reply(json.dumps(typed).encode(), "application/json")], text="^whole$")

row("long-line", [{"content_type": TYPE, "body": {"repeat": "x" * 4096, "times": 25600}}], **{**FAILS, "requests": "1|2|3"})
print("\n".join(ROWS))
