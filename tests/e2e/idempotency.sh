#!/usr/bin/env bash
# Idempotency-Key: a repeated request gets the first answer and has no second effect, also when
# both arrive at the same time, after a restart, after a crash before the answer, and through
# another gateway of the same store. A key with another content is refused.
# shellcheck disable=SC2119,SC2154
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh

secret=hook-SENTINEL-0123456789abcdef
program=$(realpath "$program")
cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { after: none, user: "wait here" }, say: never, stall_after: 0 }
  - { when: { after: none, user: "slowly" }, say: "after a while", delay_ms: 2500 }
  - { when: { after: none, user: "ask me" }, call: { tool: ship, args: {} } }
  - { when: { after: none, user: "count, then fail" }, call: { tool: count, args: {} } }
  - { when: { user: "fail" }, fail: { status: 400 } }
  - { say: "heard: {{user}}" }
YAML
cat >"$space/chela.yaml" <<YAML
store: sqlite:./chela.db
agents: { list: [{ id: coder, model: scripted/rules.yaml }] }
sandbox: { mode: "off" }
approvals: { ship: ask, count: auto }
tools:
  custom:
    - { name: ship, description: Ships., command: ["true"], effect: once, permission: write }
    - { name: count, description: Counts., command: [sh, -c, "echo x >>$space/counted; sleep 0.5"], effect: once, permission: write }
gateway: { hooks: { deploys: { secretEnv: DEPLOY_SECRET } } }
YAML
eval "plain_$(declare -f with_env)"
with_env() { plain_with_env DEPLOY_SECRET=$secret "$@"; }

keyed() { # KEY PATH BODY [CURL-FLAG...]
    local key=$1
    shift
    post "$@" -H "Idempotency-Key: $key"
    body=$(cat "$out")
}
inbound() { # KEY: what the session was told
    (cd "$space" && with_env "$program" sessions export "$1" 2>/dev/null) | grep -c '"type":"inbound"'
}

serve
# --- a message
keyed k1 /api/sessions/a/messages '{"text":"one"}'
answers "the first request" 202
first=$body
eventually status_is a idle
keyed k1 /api/sessions/a/messages '{"text":"one"}'
answers "its repetition" 202
same "the same answer" "$first" "$body"
check "the repetition says so" grep -qi '^idempotent-replayed: true' "$err"
same "one message" 1 "$(inbound a)"
keyed k1 /api/sessions/a/messages '{"text":"two"}'
answers "another body" 409
tells "which the answer says" .error.code idempotency_key_reused
for _ in 1 2; do
    keyed k0 /v1/responses '{"input":"one","conversation":"c"}'
    answers "a conversation" 200
done
check "its repetition says so" grep -qi '^idempotent-replayed: true' "$err"
same "one message of the conversation" 1 "$(inbound c)"
keyed k1 /api/sessions/b/messages '{"text":"one"}'
answers "another path" 409
keyed k2 /api/sessions/a/messages '{"text":"one"}'
answers "another key" 202
eventually status_is a idle
same "is a second message" 2 "$(inbound a)"
keyed "$(printf 'x%.0s' {1..256})" /api/sessions/a/messages '{"text":"one"}'
answers "a key of 256 characters" 400
keyed "$(printf 'x%.0s' {1..255})" /api/sessions/a/messages '{"text":"one"}'
answers "a key of 255 characters" 202
post /api/sessions/a/messages '{"text":"one"}' -H 'Idempotency-Key;'
answers "an empty key" 400
post /api/sessions/a/messages '{"text":"one"}' -H 'Idempotency-Key: a' -H 'Idempotency-Key: b'
answers "two keys" 400
post /api/sessions/a/messages '{"text":"one"}' -H 'Idempotency-Key: a b'
answers "a key with a space" 400
check "a key with a space: it says why" grep -q 'without spaces' "$out"
post /api/sessions/a/messages '{"text":"one"}' -H "$(printf 'Idempotency-Key: a\tb')"
answers "a key with a tab" 400
eventually status_is a idle

# --- an error is an answer, too
keyed k3 /api/sessions/c/cancel '{}'
answers "nothing to cancel" 409
first=$body
keyed k3 /api/sessions/c/cancel '{}'
same "the same refusal" "$first" "$body"

# --- at the same time
pids=()
for i in {1..8}; do
    curl -sS -m 30 -H "Authorization: Bearer $token" -H 'Content-Type: application/json' -H 'Idempotency-Key: k4' \
        --data-binary '{"text":"together"}' -o "$tmp/at-once.$i" "$gateway/api/sessions/d/messages" &
    pids+=($!)
done
wait "${pids[@]}"
eventually status_is d idle
same "eight at once: one message" 1 "$(inbound d)"
same "eight at once: one answer" 1 "$(cat "$tmp"/at-once.* | sort | uniq -c | grep -c .)"

# --- a tool
rm -f "$space/counted"
for i in 1 2; do
    curl -sS -m 30 -H "Authorization: Bearer $token" -H 'Content-Type: application/json' -H 'Idempotency-Key: k5' \
        --data-binary '{"tool":"count","args":{}}' -o "$tmp/tool.$i" "$gateway/tools/invoke" &
    pids[i]=$!
done
wait "${pids[1]}" "${pids[2]}"
same "a tool runs once" 1 "$(grep -c x "$space/counted")"
same "and has one result" "$(cat "$tmp/tool.1")" "$(cat "$tmp/tool.2")"

# --- completions of a session, whole and as a stream; the page's stream
for stream in false true; do
    keyed "k6-$stream" /v1/chat/completions "{\"model\":\"coder\",\"stream\":$stream,\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}" \
        -H "X-Chela-Session: e-$stream"
    answers "a completion (stream: $stream)" 200
    first=$body
    keyed "k6-$stream" /v1/chat/completions "{\"model\":\"coder\",\"stream\":$stream,\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}" \
        -H "X-Chela-Session: e-$stream"
    same "the same completion" "$first" "$body"
    same "one message" 1 "$(inbound e-$stream)"
done
check "a stream is repeated as a stream" grep -qi '^content-type: text/event-stream' "$err"
page='{"id":"f","messages":[{"id":"m1","role":"user","parts":[{"type":"text","text":"hi"}]}]}'
keyed k7 /api/chat "$page"
first=$body
keyed k7 /api/chat "$page"
answers "a chat" 200
same "the same stream" "$first" "$body"
check "with its header" grep -qi '^x-vercel-ai-ui-message-stream: v1' "$err"

# --- approvals
post /api/sessions/g/messages '{"text":"ask me"}'
eventually status_is g paused
call GET /api/approvals
approval=$(jq -r '.approvals[] | select(.session == "g").approval_id' "$out")
keyed k8 "/api/approvals/$approval" '{"decision":"deny"}'
answers "a decision" 200
first=$body
eventually status_is g idle
keyed k8 "/api/approvals/$approval" '{"decision":"deny"}'
same "the same answer to a decision" "200 $first" "$code $body"

# --- a hook whose sender signs each attempt anew
knock() { # KEY BODY TIME
    local signature
    signature=$(printf '%s.%s' "$3" "$2" | openssl dgst -sha256 -hmac "$secret" -r | cut -d' ' -f1)
    anon POST /hooks/deploys -H 'Content-Type: application/json' -H "X-Chela-Timestamp: $3" \
        -H "X-Chela-Signature: sha256=$signature" -H "Idempotency-Key: $1" --data-binary "$2"
    body=$(cat "$out")
}
now=$(date +%s)
knock k9 '{"n":1}' "$now"
answers "a hook" 202
first=$body
knock k9 '{"n":1}' $((now + 1))
same "signed again: the same answer" "202 $first" "$code $body"
knock k10 '{"n":1}' "$now"
same "replayed under another key: a duplicate" true "$(jq -r .duplicate "$out")"
anon POST /hooks/deploys -H 'Content-Type: application/json' -H 'Idempotency-Key: k11' --data-binary '{}'
answers "unsigned: no answer is kept" 401

# --- restarts
keyed k12 /api/sessions/h/messages '{"text":"before"}'
first=$body
stop_serving KILL
serve
keyed k12 /api/sessions/h/messages '{"text":"before"}'
same "after a crash: the same answer" "202 $first" "$code $body"
eventually status_is h idle
same "and one message" 1 "$(inbound h)"
# killed after the message was stored, before there was an answer
curl -sS -m 20 -H "Authorization: Bearer $token" -H 'Content-Type: application/json' -H 'Idempotency-Key: k13' -H 'X-Chela-Session: i' \
    --data-binary '{"model":"coder","messages":[{"role":"user","content":"slowly"}]}' "$gateway/v1/chat/completions" >/dev/null 2>&1 &
curl_pid=$!
stored() { [ "$(inbound i)" -ge 1 ]; }
eventually stored
stop_serving KILL
wait $curl_pid 2>/dev/null
serve
keyed k13 /v1/chat/completions '{"model":"coder","messages":[{"role":"user","content":"slowly"}]}' -H 'X-Chela-Session: i'
answers "after a crash before the answer" 200
tells "the interrupted run answers" '.choices[0].message.content' 'after a while'
same "no second message" 1 "$(inbound i)"

# --- clients of the vendors repeat a request that failed: not if tools would run twice
post /v1/chat/completions '{"model":"coder","messages":[{"role":"user","content":"fail"}]}'
answers "a run that fails" 400
check "may be repeated" bash -c "! grep -qi '^x-should-retry' '$err'"
post /v1/chat/completions '{"model":"coder","messages":[{"role":"user","content":"count, then fail"}]}'
answers "a run that fails after a call" 400
check "says that it should not" grep -qi '^x-should-retry: false' "$err"

# --- a run that was cancelled: the session has the message
curl -sS -m 60 -D "$tmp/waits.head" -o "$tmp/waits" -w '%{http_code}' -H "Authorization: Bearer $token" -H 'Content-Type: application/json' -H 'Idempotency-Key: k21' \
    -H 'X-Chela-Session: q' --data-binary '{"model":"coder","messages":[{"role":"user","content":"wait here"}]}' "$gateway/v1/chat/completions" >"$tmp/waits.code" &
curl_pid=$!
eventually status_is q running
post /api/sessions/q/cancel '{}'
wait $curl_pid
same "a cancelled run" 502 "$(<"$tmp/waits.code")"
check "should not be repeated" grep -qi '^x-should-retry: false' "$tmp/waits.head"
keyed k21 /v1/chat/completions '{"model":"coder","messages":[{"role":"user","content":"wait here"}]}' -H 'X-Chela-Session: q'
answers "does not begin again" 409
same "no second message after a cancellation" 1 "$(inbound q)"

# --- a session that is deleted: its kept answers go, and nothing runs again
said='[{"role":"user","content":"forget this"}]'
remove() { # KEY
    status_is "$1" idle || eventually status_is "$1" idle
    call DELETE "/api/sessions/$1"
    answers "session $1 is deleted" 200
}
gone() { # WHAT
    answers "$1: its answer went with the session" 409
    tells "$1: which the answer says" .error.code idempotency_answer_deleted
}
completion() { keyed k30 /v1/chat/completions "{\"model\":\"coder\",\"stream\":$1,\"messages\":$said}" -H 'X-Chela-Session: r1'; }
streamed() { keyed k31 /v1/chat/completions "{\"model\":\"coder\",\"stream\":true,\"messages\":$said}" -H 'X-Chela-Session: r2'; }
conversed() { keyed k32 /v1/responses '{"input":"forget this","conversation":"r3"}'; }
chatted() { keyed k33 /api/chat '{"id":"r4","messages":[{"id":"m","role":"user","parts":[{"type":"text","text":"forget this"}]}]}'; }
messaged() { keyed k34 /api/sessions/r5/messages '{"text":"forget this"}'; }
r=0
for form in 'completion false' streamed conversed chatted messaged; do
    r=$((r + 1))
    $form
    check "$form: an answer" [ "$code" = 200 -o "$code" = 202 ]
    remove "r$r"
    $form
    gone "$form"
    same "$form: nothing ran" 0 "$(inbound "r$r")"
done
same "no kept text is left" 0 "$(sqlite3 "$space/chela.db" "SELECT count(*) FROM kept WHERE data LIKE '%forget this%'")"

# --- a client that left before the answer
curl -sS -m 1 -H "Authorization: Bearer $token" -H 'Content-Type: application/json' -H 'Idempotency-Key: k14' -H 'X-Chela-Session: j' \
    --data-binary '{"model":"coder","messages":[{"role":"user","content":"slowly"}]}' "$gateway/v1/chat/completions" >/dev/null 2>&1
keyed k14 /v1/chat/completions '{"model":"coder","messages":[{"role":"user","content":"slowly"}]}' -H 'X-Chela-Session: j'
answers "the client tries again" 200
tells "and gets the answer" '.choices[0].message.content' 'after a while'
same "to one message" 1 "$(inbound j)"

# --- a client that tries again during the run of another message
curl -sS -m 20 -H "Authorization: Bearer $token" -H 'Content-Type: application/json' -H 'Idempotency-Key: k18' -H 'X-Chela-Session: o' \
    --data-binary '{"model":"coder","messages":[{"role":"user","content":"slowly"}]}' "$gateway/v1/chat/completions" >/dev/null 2>&1 &
curl_pid=$!
eventually status_is o running
kill $curl_pid
wait $curl_pid 2>/dev/null
eventually status_is o idle
post /api/sessions/o/messages '{"text":"slowly"}'
answers "another message" 202
keyed k18 /v1/chat/completions '{"model":"coder","messages":[{"role":"user","content":"slowly"}]}' -H 'X-Chela-Session: o'
answers "gets no answer of another run" 409
eventually status_is o idle

# --- another gateway of the same store
one=$gateway one_pid=$gateway_pid
keyed k15 /api/sessions/l/messages '{"text":"to one"}'
first=$body
eventually status_is l idle
serve
trap 'kill -9 $one_pid $gateway_pid 2>/dev/null; rm -rf "$tmp"' EXIT
keyed k15 /api/sessions/l/messages '{"text":"to one"}'
same "another gateway: the same answer" "202 $first" "$code $body"
keyed k15 /api/sessions/l/messages '{"text":"to two"}'
answers "another gateway, another body" 409
two=$gateway
for at in "$one" "$two" "$one" "$two"; do
    curl -sS -m 30 -H "Authorization: Bearer $token" -H 'Content-Type: application/json' -H 'Idempotency-Key: k16' \
        --data-binary '{"text":"both"}' -o "$tmp/both.${at##*:}" "$at/api/sessions/m/messages" &
    pids+=($!)
done
wait "${pids[@]}" 2>/dev/null
eventually status_is m idle
same "both at once: one message" 1 "$(inbound m)"
same "both at once: one answer" 1 "$(cat "$tmp"/both.* | sort -u | grep -c .)"
stop_serving TERM
gateway_pid=$one_pid
check "the gateways end" stop_serving
tap_done
