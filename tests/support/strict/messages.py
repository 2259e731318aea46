"""Anthropic's Messages: thinking blocks are bound to system prompt, tools and earlier messages, and to
one another: those of a request that its model reads are an unbroken run. Others are ignored."""
import base64
import hashlib
import json
import re

LEVELS = ("low", "medium", "high", "xhigh", "max")
# thinking types, efforts, forced tools, sampling
MODELS = {
    "claude-opus-5-5": (("adaptive",), LEVELS, False, False),
    "claude-sonnet-5-5": (("adaptive", "between_tools"), LEVELS, False, False),
    "claude-opus-5": (("adaptive", "disabled"), LEVELS, True, False),
    "claude-opus-4-5": (("enabled", "disabled"), LEVELS[:3], True, True),
}
READS = {"claude-opus-5-5": ("claude-opus-5", "claude-opus-4-5")}  # beside its own blocks


def event(e):
    return "event: %s\ndata: %s\n\n" % (e["type"], json.dumps(e))


def blocks(message):
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def thinks(block):
    return block.get("type") in ("thinking", "redacted_thinking")


def unmarked(value):
    if isinstance(value, dict):
        return {k: unmarked(v) for k, v in value.items() if k != "cache_control"}
    return [unmarked(v) for v in value] if isinstance(value, list) else value


def marks_in(value):
    if isinstance(value, dict):
        return ("cache_control" in value) + sum(marks_in(v) for v in value.values())
    return sum(marks_in(v) for v in value) if isinstance(value, list) else 0


def prefixes(body):
    """What a block after n messages is bound to, for each n. Of the deferred tools only those count
    that a call or a search has named by then."""
    names, tools, said = set(), {}, hashlib.sha256(json.dumps(unmarked(body.get("system"))).encode())
    for m in body["messages"] + [{"role": "", "content": []}]:
        key = frozenset(names)
        if key not in tools:
            listed = [t for t in body.get("tools", []) if not t.get("defer_loading") or t["name"] in names]
            tools[key] = json.dumps(unmarked(listed))
        yield hashlib.sha256(said.digest() + tools[key].encode()).hexdigest()[:16]
        text = json.dumps([m["role"], [unmarked(b) for b in blocks(m) if not thinks(b)]])
        said.update(text.encode())
        names.update(re.findall(r'"(?:tool_name|name)": "([^"]+)"', text))


def reads(model, writer):
    return writer == model or writer in READS.get(model, ())


class Messages:
    NAME, PATH, SYSTEM, MESSAGES, CACHE_MIN = "anthropic", "/v1/messages", "system", "messages", 512

    def __init__(self):
        self.signed = {}

    def read(self, path, body):
        return body

    def bare(self, raw):
        return re.sub(r',"cache_control":\{[^}]*\}', "", raw)

    def cache_key(self, body):
        return json.dumps([body["model"], body.get("thinking"), body.get("output_config", {}).get("effort")])

    def blocks(self, piece):
        return piece.count('{"type":')

    def marks(self, body, n):
        whole = "cache_control" in body or marks_in(body["messages"][-1:])
        return [0] * bool(marks_in(body.get("tools", []))) + [1] * bool(marks_in(body.get("system", []))) + [n - 1] * bool(whole)

    def held(self, body):
        return sum(thinks(b) for m in body["messages"] for b in blocks(m))

    def inputs(self, body):
        for m in body["messages"]:
            text = "\n".join(b["text"] for b in blocks(m) if b["type"] == "text")
            yield from (("result", "") for b in blocks(m) if b["type"] == "tool_result")
            if m["role"] == "user" and text:
                yield "user", text

    def error(self, complaint):
        return {"type": "error", "error": {"type": "invalid_request_error", "message": complaint}}

    # --- what is refused

    def check(self, body, mode):
        return self.wrong_parameter(body) or self.wrong_order(body) or self.wrong_block(body, mode)

    def wrong_parameter(self, body):
        types, efforts, forced, sampling = MODELS[body["model"]]
        thinking, effort = body.get("thinking", {}), body.get("output_config", {}).get("effort")
        if thinking and thinking["type"] not in types:
            return '"thinking.type.%s" is not supported for this model.' % thinking["type"]
        if effort and effort not in efforts:
            return "output_config.effort: Input should be one of %s" % (efforts,)
        if not forced and body.get("tool_choice", {}).get("type") in ("any", "tool"):
            return 'tool_choice: type "tool" and "any" are not supported for this model.'
        if not sampling and set(body) & {"temperature", "top_p", "top_k"}:
            return "temperature: Extra inputs are not permitted"
        if marks_in(body) > 4:
            return "A maximum of 4 blocks with cache_control may be provided. Found %d." % marks_in(body)
        names = [t["name"] for t in body.get("tools", [])]
        return "tools: Tool names must be unique." if len(set(names)) < len(names) else None

    def wrong_order(self, body):
        open_calls, role, ids = [], "", set()
        if body["messages"][0]["role"] != "user":
            return "messages: first message must use the \"user\" role"
        for i, m in enumerate(body["messages"]):
            at, content = "messages.%d" % i, blocks(m)
            role = m["role"]  # the service joins messages of one role
            if not content or any(b["type"] == "text" and not b["text"].strip() for b in content):
                return "%s: text content blocks must be non-empty" % at
            results = [b["tool_use_id"] for b in content if b["type"] == "tool_result"]
            if sorted(results) != sorted(open_calls):
                return "%s: `tool_use` ids were found without `tool_result` blocks immediately after: %s" % (at, open_calls)
            if any(b["type"] != "tool_result" for b in content[:len(results)]):
                return "%s: tool_result blocks come first in their message" % at
            open_calls = [b["id"] for b in content if b["type"] == "tool_use"]
            if open_calls and (role == "user" or ids & set(open_calls)):
                return "%s: `tool_use` ids must be unique" % at
            ids |= set(open_calls)
            if role == "assistant" and thinks(content[-1]):
                return "%s: The final block in an assistant message cannot be `thinking`." % at
        return "messages: the last message must be the user's" if role != "user" else None

    def wrong_block(self, body, mode):
        sent, bound = [], list(prefixes(body))
        for i, m in enumerate(body["messages"]):
            for k, b in enumerate(blocks(m)):
                if not thinks(b):
                    continue
                at = "messages.%d.content.%d" % (i, k)
                if mode == "modified":
                    return "%s: thinking or redacted_thinking blocks in the latest assistant message cannot be modified." % at
                proof = self.signed.get(b.get("signature"))
                if mode == "strip" or not proof or proof["text"] != b.get("thinking"):
                    return "%s: Invalid `signature` in `thinking` block" % at
                broken = bool(sent) and proof["before"] != self.last(sent, proof["model"])
                sent.append(b["signature"])
                if not reads(body["model"], proof["model"]):
                    continue
                if mode == "bound" and (broken or proof["prefix"] != bound[i]):
                    return ("%s: Invalid `signature` in `thinking` block. The block is bound to a different conversation. "
                            "Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\"." % at)
        return None

    def last(self, signatures, model):
        """The last of these blocks that a model reads."""
        read = [s for s in signatures if s in self.signed and reads(model, self.signed[s]["model"])]
        return read[-1] if read else None

    # --- the reply

    def sign(self, body, text):
        chain = self.last([b.get("signature") for m in body["messages"] for b in blocks(m) if thinks(b)], body["model"])
        name = base64.b64encode(b"signature %d" % len(self.signed)).decode()
        self.signed[name] = {"text": text, "model": body["model"], "before": chain, "prefix": list(prefixes(body))[-1]}
        return name

    def stream(self, body, n, calls, words, usage):
        used = {"input_tokens": usage["input"] - usage["cached"], "cache_read_input_tokens": usage["cached"],
                "cache_creation_input_tokens": 0, "output_tokens": usage["output"]}
        yield event({"type": "message_start", "message": {
            "id": "msg_%d" % n, "type": "message", "role": "assistant", "model": body["model"], "content": [],
            "stop_reason": None, "stop_sequence": None, "usage": used}})
        deltas = [("thinking", {"thinking": "", "signature": ""},
                   [{"type": "thinking_delta", "thinking": "hm %d" % n}, {"type": "signature_delta", "signature": self.sign(body, "hm %d" % n)}])]
        for i, (name, arguments) in enumerate(calls):
            deltas.append(("tool_use", {"id": "toolu_%d_%d" % (n, i), "name": name, "input": {}},
                           [{"type": "input_json_delta", "partial_json": json.dumps(arguments)}]))
        if not calls:
            deltas.append(("text", {"text": ""}, [{"type": "text_delta", "text": words}]))
        for i, (kind, start, pieces) in enumerate(deltas):
            yield event({"type": "content_block_start", "index": i, "content_block": {"type": kind, **start}})
            for piece in pieces:
                yield event({"type": "content_block_delta", "index": i, "delta": piece})
            yield event({"type": "content_block_stop", "index": i})
        stop = "tool_use" if calls else "end_turn"
        yield event({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": used})
        yield event({"type": "message_stop"})
