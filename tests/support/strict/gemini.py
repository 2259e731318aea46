"""Google's generateContent: the first call of a reply has its signature, on the part that was signed; results
follow their calls, in order and by id; roles alternate."""
import json
import re

LEVELS = ("LOW", "MEDIUM", "HIGH")
MODELS = {"gemini-3.8-flash": LEVELS, "gemini-4-argon": LEVELS}
ANY_SIGNATURE = "skip_thought_signature_validator"


class Gemini:
    NAME, PATH, SYSTEM, MESSAGES, CACHE_MIN = "gemini", "/v1beta/models/", "systemInstruction", "contents", 1024

    def __init__(self):
        self.signed = {}  # signature: what it was made for

    def read(self, path, body):
        return {**body, "model": re.search(r"/models/([^:]+):", path).group(1)}

    def bare(self, raw):
        return raw

    def cache_key(self, body):
        return body["model"]

    def blocks(self, piece):
        return 1

    def marks(self, body, n):
        return range(n)

    def held(self, body):
        return sum(p.get("thoughtSignature", ANY_SIGNATURE) != ANY_SIGNATURE for c in body["contents"] for p in c["parts"])

    def inputs(self, body):
        for c in body["contents"]:
            text = "\n".join(p["text"] for p in c["parts"] if "text" in p)
            yield from (("result", "") for p in c["parts"] if "functionResponse" in p)
            if c["role"] == "user" and text:
                yield "user", text

    def error(self, complaint):
        return {"error": {"code": 400, "message": complaint, "status": "INVALID_ARGUMENT"}}

    # --- what is refused

    def check(self, body, mode):
        return self.wrong_parameter(body) or self.wrong_order(body) or self.wrong_signature(body, mode)

    def wrong_parameter(self, body):
        config = body.get("generationConfig", {})
        level = config.get("thinkingConfig", {}).get("thinkingLevel")
        if level and level.upper() not in MODELS[body["model"]]:
            return "Thinking level %s is not supported for this model." % level
        if set(config) & {"candidateCount", "presencePenalty", "frequencyPenalty"} or "thinkingBudget" in config.get("thinkingConfig", {}):
            return "generationConfig: not supported for this model"
        return None

    def wrong_order(self, body):
        open_calls, role = [], "model"
        for i, c in enumerate(body["contents"]):
            answers = [(p["functionResponse"].get("id"), p["functionResponse"]["name"]) for p in c["parts"] if "functionResponse" in p]
            if not c["parts"] or c["role"] not in ("user", "model"):
                return "contents[%d].parts: must not be empty" % i
            if c["role"] == "model" and role == "model":
                return "contents[%d]: Please ensure that function call turn comes immediately after a user turn or after a function response turn." % i
            if answers != open_calls:
                return ("Please ensure that the number of function response parts is equal to the number of function call parts of the "
                        "function call turn.")
            role = c["role"]
            open_calls = [(p["functionCall"].get("id"), p["functionCall"]["name"]) for p in c["parts"] if "functionCall" in p]
            if open_calls and role == "user":
                return "contents[%d]: a function call is not allowed in this role" % i
        return None if role == "user" else "Please ensure that multiturn requests end with a user role or a function response."

    def wrong_signature(self, body, mode):
        for c in body["contents"]:
            calls = [p for p in c["parts"] if "functionCall" in p]
            if calls and not calls[0].get("thoughtSignature"):
                return "Function call is missing a thought_signature in functionCall parts."
            for p in c["parts"]:
                signature = p.get("thoughtSignature", ANY_SIGNATURE)
                if signature == ANY_SIGNATURE:
                    continue
                if mode in ("strip", "modified"):
                    return {"strip": "Thought signature is not valid.", "modified": "Corrupted thought signature."}[mode]
                if mode == "bound" and self.signed.get(signature) != self.subject(body["model"], p):
                    return "Thought signature is not valid."
        return None

    def subject(self, model, part):
        return [model, part.get("functionCall", part.get("text"))]

    # --- the reply

    def stream(self, body, n, calls, words, usage):
        parts = [{"functionCall": {"id": "call_%d_%d" % (n, i), "name": name, "args": arguments}} for i, (name, arguments) in enumerate(calls)]
        parts = parts or [{"text": words}]
        signature = "c2lnbmF0dXJl%d" % n
        self.signed[signature] = self.subject(body["model"], parts[0])
        parts[0]["thoughtSignature"] = signature
        used = {"promptTokenCount": usage["input"], "cachedContentTokenCount": usage["cached"], "candidatesTokenCount": usage["output"],
                "totalTokenCount": usage["input"] + usage["output"]}
        for last, piece in enumerate(([{"text": "hm", "thought": True}], parts)):
            candidate = {"index": 0, "content": {"role": "model", "parts": piece}, **({"finishReason": "STOP"} if last else {})}
            yield "data: %s\n\n" % json.dumps({"candidates": [candidate], "usageMetadata": used, "modelVersion": body["model"], "responseId": "r%d" % n})
