"""OpenAI's Responses without storage: every item goes back as it came, reasoning directly before the item
that it led to, the id of an item only with its reasoning, a message with its phase, a call with one output."""
import json

LEVELS = ("low", "medium", "high", "xhigh", "max")
MODELS = {"gpt-6.1-sol": LEVELS, "gpt-6-sol": ("none",) + LEVELS}


def words_of(item):
    content = item.get("content", "")
    return content if isinstance(content, str) else "\n".join(p.get("text", "") for p in content)


def is_reasoning(item):
    return item.get("type") == "reasoning"


class Responses:
    NAME, PATH, SYSTEM, MESSAGES, CACHE_MIN = "openai", "/v1/responses", "instructions", "input", 1024

    def __init__(self):
        self.issued = {}  # id or call id of an item: the item
        self.reasons = {}  # the same: id of the reasoning before it

    def read(self, path, body):
        return body

    def bare(self, raw):
        return raw

    def cache_key(self, body):
        return json.dumps([body["model"], body.get("prompt_cache_key"), body.get("reasoning"), body.get("parallel_tool_calls")])

    def blocks(self, piece):
        return 1

    def marks(self, body, n):
        return range(n)

    def held(self, body):
        return sum(is_reasoning(i) for i in body["input"])

    def inputs(self, body):
        for item in body["input"]:
            if item.get("role") == "user":
                yield "user", words_of(item)
            elif item.get("type") == "function_call_output":
                yield "result", ""

    def error(self, complaint):
        code = "invalid_encrypted_content" if "encrypted content" in complaint else None
        return {"error": {"message": complaint, "type": "invalid_request_error", "param": "input", "code": code}}

    # --- what is refused

    def check(self, body, mode):
        return self.wrong_parameter(body) or self.wrong_pair(body) or self.wrong_item(body, mode)

    def wrong_parameter(self, body):
        effort, known = body.get("reasoning", {}).get("effort"), MODELS[body["model"]]
        if effort and effort not in known:
            return "Unsupported value: '%s' is not supported with the '%s' model. Supported values are: %s." % (effort, body["model"], known)
        if body.get("store") is not False:
            return "store: this organization keeps no data"
        if set(body) & {"temperature", "top_p", "top_logprobs"} and effort != "none":
            return "Unsupported parameter: 'temperature' is not supported with this model."
        return None

    def wrong_pair(self, body):
        calls, done = [], set()
        for i, item in enumerate(body["input"]):
            kind = item.get("type", "message")
            if kind == "function_call":
                if item["call_id"] in calls:
                    return "input[%d]: Duplicate call_id %s" % (i, item["call_id"])
                calls.append(item["call_id"])
            elif kind == "function_call_output":
                if item["call_id"] not in calls or item["call_id"] in done:
                    return "No tool call found for function call output with call_id %s." % item["call_id"]
                done.add(item["call_id"])
            elif kind == "message" and item["role"] == "user" and set(calls) - done:
                break
            elif kind == "message" and item["role"] not in ("user", "assistant", "developer", "system"):
                return "Invalid value: '%s'. Supported values are: 'assistant', 'system', 'developer', and 'user'." % item["role"]
        missing = [c for c in calls if c not in done]
        return "No tool output found for function call %s." % missing[0] if missing else None

    def wrong_item(self, body, mode):
        items = body["input"]
        for i, item in enumerate(items):
            before = items[i - 1] if i else {}
            wrong = self.wrong_reasoning(items, i, mode) if is_reasoning(item) else self.wrong_output(item, before)
            if wrong:
                return wrong
        return None

    def wrong_reasoning(self, items, i, mode):
        item, after = items[i], items[i + 1] if i + 1 < len(items) else {}
        if mode == "strip" or self.issued.get(item.get("id")) != item:
            return ("The encrypted content for item %s could not be verified. Reason: Encrypted content could not be "
                    "decrypted or parsed." % item.get("id"))
        leads_to = [k for k, r in self.reasons.items() if r == item["id"]]
        if mode == "modified" or not {after.get("id"), after.get("call_id")} & set(leads_to):
            return "Item '%s' of type 'reasoning' was provided without its required following item." % item["id"]
        return None

    def wrong_output(self, item, before):
        known = self.issued.get(item.get("id"))
        if item.get("id") and not known:
            return "Item with id '%s' not found. Items are not persisted when `store` is set to false." % item["id"]
        needs = self.reasons.get(item.get("id"))
        if needs and before.get("id") != needs:
            return "Item '%s' of type '%s' was provided without its required 'reasoning' item: '%s'." % (item["id"], item["type"], needs)
        known = known or self.issued.get(item.get("call_id")) or self.issued.get(words_of(item))
        if item.get("role") == "assistant" and known and item.get("phase") != known["phase"]:
            return "input: the phase of an assistant message must be sent back: %s, %s" % (known["phase"], json.dumps(item))
        if item.get("type") == "function_call" and known and [item["name"], json.loads(item["arguments"])] != [known["name"], json.loads(known["arguments"])]:
            return "input: call %s was changed" % item["call_id"]
        return None

    # --- the reply

    def items(self, n, calls, words):
        text = "looking %d" % n if calls else words
        phase = "commentary" if calls else "final_answer"
        made = [{"type": "reasoning", "id": "rs_%d" % n, "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "gAAA%d" % n},
                {"type": "message", "id": "msg_%d" % n, "role": "assistant", "status": "completed", "phase": phase,
                 "content": [{"type": "output_text", "text": text, "annotations": []}]}]
        for i, (name, arguments) in enumerate(calls):
            if i == 0:
                made.append({"type": "reasoning", "id": "rs_%d_b" % n, "summary": [], "encrypted_content": "gBBB%d" % n})
            made.append({"type": "function_call", "id": "fc_%d_%d" % (n, i), "call_id": "call_%d_%d" % (n, i),
                         "name": name, "arguments": json.dumps(arguments), "status": "completed"})
        return made

    def keep(self, made):
        for before, item in zip([{}] + made, made):
            keys = [item["id"], item.get("call_id")] + ([words_of(item)] if item["type"] == "message" else [])
            for key in filter(None, keys):
                self.issued[key] = item
                if is_reasoning(before) and key != words_of(item):
                    self.reasons[key] = before["id"]

    def stream(self, body, n, calls, words, usage):
        made = self.items(n, calls, words)
        self.keep(made)
        whole = {"id": "resp_%d" % n, "object": "response", "model": body["model"], "error": None, "incomplete_details": None}
        used = {"input_tokens": usage["input"], "input_tokens_details": {"cached_tokens": usage["cached"]}, "output_tokens": usage["output"],
                "output_tokens_details": {"reasoning_tokens": 2}, "total_tokens": usage["input"] + usage["output"]}
        events = [{"type": "response.created", "response": {**whole, "status": "in_progress", "output": []}}]
        for i, item in enumerate(made):
            hollow = {k: v for k, v in item.items() if k != "encrypted_content"}
            hollow.update({"content": []} if item["type"] == "message" else {"arguments": ""} if item["type"] == "function_call" else {"summary": []})
            events.append({"type": "response.output_item.added", "output_index": i, "item": hollow})
            if item["type"] == "message":
                events.append({"type": "response.output_text.delta", "output_index": i, "item_id": item["id"], "content_index": 0, "delta": words_of(item)})
            elif item["type"] == "function_call":
                events.append({"type": "response.function_call_arguments.delta", "output_index": i, "item_id": item["id"], "delta": item["arguments"]})
            events.append({"type": "response.output_item.done", "output_index": i, "item": item})
        events.append({"type": "response.completed", "response": {**whole, "status": "completed", "output": made, "usage": used}})
        for i, e in enumerate(events):
            yield "event: %s\ndata: %s\n\n" % (e["type"], json.dumps({**e, "sequence_number": i}))
