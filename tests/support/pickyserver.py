#!/usr/bin/env python3
"""pickyserver.py LOG: a model service that refuses requests in its vendors' words.

Prints its port. The first segment of the path is a comma-separated list of rules, the rest the
endpoint of OpenAI's or Anthropic's protocol. A request that a rule forbids gets 400 with the text of
the rule; every other gets "fine". LOG gets a line for each request: rules, endpoint, status, and
the parameters that the rules are about."""
import http.server
import json
import sys
import threading

log = open(sys.argv[1], "a", buffering=1)
lock = threading.Lock()


def effort(b):
    return b.get("reasoning_effort") or b.get("reasoning", {}).get("effort") or b.get("output_config", {}).get("effort")


def forced(b):
    choice = b.get("tool_choice")
    return choice not in (None, "auto", "none") and not (isinstance(choice, dict) and choice.get("type") in ("auto", "none"))


def says(text):
    return lambda b, path: text


RULES = {
    "responses": lambda b, path: path.endswith("/chat/completions") and
    "Function tools with reasoning_effort are not supported for m in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.",
    "chat": lambda b, path: path.endswith("/responses") and "This model does not support the Responses API. Use /v1/chat/completions.",
    "efforts": lambda b, path: effort(b) not in (None, "medium", "high") and
    "Unsupported value: '%s' is not supported with the 'm' model. Supported values are: 'medium' and 'high'." % effort(b),
    "temperature": lambda b, path: "temperature" in b and
    "Unsupported value: 'temperature' does not support %s with this model. Only the default (1) value is supported." % b["temperature"],
    "top_p": lambda b, path: "top_p" in b and "top_p: Extra inputs are not permitted",
    "stop": lambda b, path: "stop" in b and "Unsupported parameter: 'stop' is not supported with this model.",
    "seed": lambda b, path: "seed" in b and "Unknown parameter: 'seed'.",
    "stream": lambda b, path: b.get("stream") and "Your organization must be verified to stream this model.",
    "limit": lambda b, path: "max_tokens" in b and
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    "old": lambda b, path: "max_completion_tokens" in b and "Unrecognized request argument supplied: max_completion_tokens",
    "system": lambda b, path: any(m.get("role") == "developer" for m in b.get("messages", [])) and
    "developer is not one of ['system', 'assistant', 'user', 'tool', 'function'] - 'messages.[0].role'",
    "forced": lambda b, path: forced(b) and "tool_choice: type \"tool\" and \"any\" are not supported for this model.",
    "adaptive": lambda b, path: b.get("thinking", {}).get("type") == "enabled" and
    "\"thinking.type.enabled\" is not supported for this model. Use \"thinking.type.adaptive\" and \"output_config.effort\" to control thinking behavior.",
    "always": lambda b, path: b.get("thinking", {}).get("type") == "disabled" and
    "\"thinking.type.disabled\" is not supported for this model. Use \"thinking.type.adaptive\" and \"output_config.effort\" to control thinking behavior.",
    "strict": lambda b, path: any(t.get("strict") or t.get("function", {}).get("strict") for t in b.get("tools", [])) and
    "tools.0.custom.strict: Extra inputs are not permitted",
    # Services that no repair pleases.
    "again": says("Unsupported parameter: 'temperature' is not supported with this model."),
    "words": lambda b, path: "temperature: not today" if "temperature" not in b else
    "Unsupported parameter: 'temperature' is not supported with this model.",
    "riddle": says("The request was not well formed in some way"),
}


def body(path, text):
    if path.endswith("/messages"):
        return {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [{"type": "text", "text": text}],
                "stop_reason": "end_turn", "stop_sequence": None, "usage": {"input_tokens": 5, "output_tokens": 2}}
    if path.endswith("/responses"):
        return {"id": "resp_1", "object": "response", "status": "completed", "model": "m", "error": None,
                "output": [{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
                            "content": [{"type": "output_text", "text": text, "annotations": []}]}],
                "usage": {"input_tokens": 5, "output_tokens": 2, "total_tokens": 7}}
    return {"id": "c1", "object": "chat.completion", "model": "m",
            "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}}


class Service(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        b = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        names = self.path.split("/")[1]
        complaint = next((c for n in names.split(",") if n in RULES for c in [RULES[n](b, self.path)] if c), None)
        gone = "nowhere" in names.split(",") and self.path.endswith("/responses")
        status = 404 if gone else 400 if complaint else 200
        seen = [k for k in ("temperature", "top_p", "stop", "seed", "stream", "max_tokens", "max_completion_tokens") if b.get(k) is not None]
        seen += ["effort=%s" % effort(b)] if effort(b) else []
        seen += ["thinking=%s" % b["thinking"]["type"]] if "thinking" in b else []
        seen += ["forced"] if forced(b) else []
        with lock:
            log.write("%s %s %d %s\n" % (names, self.path.rsplit("/", 1)[1], status, " ".join(seen)))
        if gone:
            answer = {"error": {"message": "Not Found"}}
        elif complaint and self.path.endswith("/messages"):
            answer = {"type": "error", "error": {"type": "invalid_request_error", "message": complaint}}
        elif complaint:
            answer = {"error": {"message": complaint, "type": "invalid_request_error", "param": None, "code": None}}
        else:
            answer = body(self.path, "fine")
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Service)
print(server.server_address[1], flush=True)
server.serve_forever()
