#!/usr/bin/env bash
# What a model writes between its calls, as text or as reasoning, is shown as it comes and in its order, on every face.
# shellcheck disable=SC2119,SC2154
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
. tests/support/acp.sh

cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { after: none }, think: "First note.", say: "One moment.", call: { tool: calculate, args: { expression: "6*7" } } }
  - { when: { result: "42" }, think: "Second note.", say: "Nearly there.", call: { tool: calculate, args: { expression: "1+1" } } }
  - { think: "Third note.", say: "The answer." }
YAML
cat >"$space/chela.yaml" <<'YAML'
store: "memory:"
sandbox: { mode: "off" }
agents: { list: [{ id: coder, model: scripted/rules.yaml }] }
YAML
whole="First note.|One moment.|Second note.|Nearly there.|Third note.|The answer."
# Pieces of a kind become one: lines "KIND<tab>TEXT", where a line of another kind, or without text, ends the text.
joined() { awk -F '\t' '{ if ($1 != kind && text != "") { printf "%s%s", sep, text; sep = "|"; text = "" } kind = $1; text = text $2 } END { if (text != "") printf "%s%s", sep, text; print "" }'; }
as_pieces() { jq -r "$1 | [.[0], (.[1] // \"\" | gsub(\"\\n\"; \"\"))] | @tsv" | joined; } # EVENT-TO-[KIND, TEXT]

# --- the terminal, and its events
chela run --no-session --model "scripted/$space/rules.yaml" go
same "run: the notes on stderr, the answer on stdout" "[reasoning] First note.|[text] One moment.|[reasoning] Second note.|[text] Nearly there.|[reasoning] Third note.|The answer." \
    "$({ grep -v '^\[tool\]' "$err" && cat "$out"; } | paste -sd '|')"
chela run --no-session --output jsonl --model "scripted/$space/rules.yaml" go
same "run, events" "$whole" "$(as_pieces 'select(.type != "run_end") | [.type, .text?]' <"$out")"

# --- the gateway
serve
stream() { # PATH BODY
    post "$1" "{\"model\":\"coder\",\"stream\":true,$2}"
    chunks
}
messages='"messages":[{"role":"user","content":"go"}]'
same "Chat Completions" "$whole" "$(stream /v1/chat/completions "$messages" | as_pieces '.choices[0].delta | if .content then ["t", .content] else ["r", .reasoning_content] end')"
same "Chat Completions: reasoning of several turns is apart" $'First note.\n\nSecond note.\n\nThird note.' \
    "$(stream /v1/chat/completions "$messages" | jq -j '.choices[0].delta.reasoning_content // ""')"
same "Messages" "$whole" "$(stream /v1/messages "\"max_tokens\":900,$messages" | as_pieces '[.index, (.delta.text? // .delta.thinking?)]')"
same "Responses" "$whole" "$(stream /v1/responses '"input":"go"' | as_pieces '[.item_id?, (.delta? | strings)]')"
post /api/chat '{"id":"c","messages":[{"id":"u","role":"user","parts":[{"type":"text","text":"go"}]}]}'
same "pages with the AI SDK" "$whole" "$(chunks | as_pieces '[.type, .delta?]')"
post /api/sessions/s/messages '{"text":"go","agent":"coder","stream":true}'
same "the page" "$whole" "$(chunks | as_pieces 'select(.ephemeral) | [.type, .text?]')"

# --- an editor
store=sqlite:$tmp/acp.db
begin
request 0 initialize '{"protocolVersion":1,"clientCapabilities":{}}'
answer 0 >/dev/null
request 1 session/new "{\"cwd\":\"$space\",\"mcpServers\":[]}"
session=$(answer 1 | jq -r .result.sessionId)
request 2 session/prompt "{\"sessionId\":\"$session\",\"prompt\":[{\"type\":\"text\",\"text\":\"go\"}]}"
answer 2 >/dev/null
same "ACP" "$whole" "$(as_pieces '.params.update? | [.sessionUpdate?, (.content? | objects | .text?)]' <"$tmp/lines")"
finish
tap_done
