#!/usr/bin/env bash
# `chela serve`: sessions over HTTP, their events, approvals, single tools.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
# shellcheck disable=SC2034
debuggable=1 # /proc shows a user the process
. tests/support/serve.sh

cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { after: none, user: "where" }, call: { tool: get_place, args: {} } }
  - { when: { after: none, user: "ask me" }, call: { tool: t_ask, args: { n: 1 } } }
  - { when: { after: none, user: "wait" }, call: { tool: t_wait, args: {} } }
  - { when: { after: none, user: "^tell" }, call: { tool: sessions_send, args: { session: quiet, message: hello } } }
  - { when: { after: none }, say: "you said: {{user}}" }
  - { say: "it said: {{result}}" }
YAML
echo 'rules: [{ say: "quiet here" }]' >"$space/quiet.yaml"
cat >"$space/waiter" <<'SCRIPT'
#!/bin/sh
touch waiting
while [ ! -e go ]; do sleep 0.05; done
echo done waiting
SCRIPT
printf '#!/bin/sh\necho ran >>asked.log\necho it ran\n' >"$space/asker"
chmod +x "$space/waiter" "$space/asker"
cat >"$space/chela.yaml" <<'YAML'
store: sqlite:./chela.db
sandbox: { mode: off }
agents:
  list:
    - { id: coder, model: scripted/rules.yaml, sendTo: [quiet] }
    - { id: hasty, model: scripted/rules.yaml, queue: { mode: interrupt } }
    - { id: gatherer, model: scripted/rules.yaml, queue: { mode: collect, debounceMs: 4000 } }
    - { id: patient, model: scripted/rules.yaml, queue: { mode: follow_up } }
    - { id: quiet, model: scripted/quiet.yaml }
approvals: { sessions_send: auto }
tools:
  custom:
    - { name: t_ask, description: Asks., command: [./asker], effect: once, permission: write, confirm: true, parameters: { type: object } }
    - { name: t_wait, description: Waits., command: [./waiter], effect: read, permission: read, timeoutSec: 60 }
YAML
program=$(realpath "$program")
serve

until_idle() {
    for _ in {1..200}; do
        call GET "/api/sessions/$1"
        [ "$(jq -r .status "$out" 2>/dev/null)" = "${2:-idle}" ] && return 0
        sleep 0.05
    done
    return 1
}
last_words() {
    jq -r '[.transcript[] | select(.role == "assistant")] | last | [.content[] | .text // empty] | join("")' "$out"
}

# --- a session, from its first message
post /api/sessions/one/messages '{"text":"hello"}'
answers "a message is accepted" 202
tells "and begins a run" '.delivery + " " + .session' "run one"
check "which ends" until_idle one
same "with an answer" "you said: hello" "$(last_words)"
post /api/sessions/one/messages '{"text":"again","stream":true}'
answers "or is followed" 200
same "up to its end" run_end "$(chunks | tail -n 1 | jq -r .type)"
same "the id of each event is its position" "$(chunks | jq -r .cursor)" "$(sed -n 's/^id: //p' "$out")"
same "positions of stored events grow" "$(chunks | jq -r 'select(.ephemeral | not).cursor' | sort -t. -k1,1n -k2,2n -u)" "$(chunks | jq -r 'select(.ephemeral | not).cursor')"
call GET '/api/sessions?limit=5'
tells "it is listed" '[.sessions[].key] | join(",")' one
call GET /api/sessions/one/requests
tells "its requests are listed" '[.requests[] | "\(.request) \(.turn) \(.failed)"] | join(",")' "1 1 false,2 1 false"
call GET /api/sessions/one/requests/2
tells "a request in full" '"\(.request) \(.of) \(.verified) \(.messages | length)"' "2 2 true 3"
call GET /api/sessions/one/setups
tells "what requests have in common" '[.parts[].kind] | unique | join(",")' "parameters,section,tool"
call GET /api/sessions/one/requests/3
answers "a request that is not" 404
call GET /api/sessions/one/requests/x
answers "a request that is no number" 404
call GET /api/sessions/nobody
answers "one that is not" 404
call GET /api/sessions/nobody/events
answers "has no events either" 404
call GET /api/sessions
tells "and did not come about by that" '.sessions | length' 1
post "/api/sessions/$(head -c 300 /dev/zero | tr '\0' k)/messages" '{"text":"x"}'
answers "a key that is too long" 400
post /api/sessions/one/messages '{}'
answers "a message without words" 400
post /api/sessions/two/messages '{"text":"x","agent":"nobody"}'
answers "an agent that is not there" 404

# --- while a run is in progress
post /api/sessions/busy/messages '{"text":"wait"}'
for _ in {1..100}; do [ -e "$space/waiting" ] && break; sleep 0.05; done
curl -sN -m 600 -H "Authorization: Bearer $token" "$gateway/api/sessions/busy/events" >"$tmp/events" &
follower=$!
for _ in {1..100}; do [ -s "$tmp/events" ] && break; sleep 0.05; done
post /api/sessions/busy/messages '{"text":"also this","mode":"follow_up"}'
tells "a message waits for the end" .delivery follow_up
for mode in '"followup"' '"STEER"' '"collect"' 5 '["run"]'; do
    post /api/sessions/busy/messages "{\"text\":\"by mistake\",\"mode\":$mode}"
    answers "mode $mode is refused" 400
done
for member in '"agent":5' '"images":"data:image/png;base64,AA=="' '"files":{}' '"model":[]' '"reasoning":true' '"tools":{}' '"results":"x"' \
    '"resume":1' '"stream":"true"'; do
    post /api/sessions/odd/messages "{\"text\":\"by mistake\",$member}"
    answers "$member is refused" 400
done
for body in '{"text":"x","mode":"steal"}' '{"text":""}' '{"mode":"take_over"}' '{"text":"x","images":["file:///x"]}'; do
    post /api/sessions/never/messages "$body"
    answers "a first request is refused: $body" 400
    call GET /api/sessions/never
    answers "and makes no session" 404
done
{ printf '{"text":"'; head -c 16777217 /dev/zero | tr '\0' a; printf '"}'; } >"$tmp/large"
for key in busy idle; do
    post /api/sessions/$key/messages "@$tmp/large"
    answers "$key: a text that is too long" 413
done
sed -i 's/^{/{"mode":"take_over",/' "$tmp/large"
post /api/sessions/busy/messages "@$tmp/large"
answers "a take-over with a text that is too long" 413
post /api/sessions/odd/messages '{"text":5}'
answers "a text of another type" 400
check "the error names it" grep -qF '`text`' "$out"
post /api/chat '{"messages":[{"role":"user","parts":[{"type":"text","text":"hi"}]}]}'
tells "a chat without an id" .error.message '`id` is missing'
# A key may have any printable character: each is one segment of the path.
for key in team/a a/../b '50%25' 'c:\d' ' '; do
    at=/api/sessions/$(jq -rn --arg k "$key" '$k | @uri')
    post "$at/messages" '{"text":"hi","stream":true}'
    answers "key '$key': a message" 200
    call GET "$at"
    tells "key '$key': it is read" .key "$key"
    call DELETE "$at"
    answers "key '$key': it is deleted" 200
done
for body in '{"to":5}' '{"before":"x"}'; do
    post /api/sessions/busy/fork "$body"
    answers "a fork with $body" 400
done
for member in '"model":"nothing/such"' '"tools":[{}]' '"reasoning":"much"'; do
    post /api/sessions/new/messages "{\"text\":\"by mistake\",$member}"
    answers "$member is refused, also for a session that is not in memory" 400
    call GET /api/sessions/new
    answers "and makes no session" 404
done
post /api/sessions/new/messages '{"text":"hello"}'
answers "and the session can be used" 202
images='"https://127.0.0.1/a.png"'
for _ in {1..19}; do images+=',"https://127.0.0.1/a.png"'; done
post /api/sessions/many/messages "{\"text\":\"look\",\"images\":[$images],\"files\":[{\"url\":\"data:text/plain;base64,YQ==\"}]}"
answers "one file too many" 413
post /api/sessions/many/messages "{\"text\":\"look\",\"images\":[$images]}"
answers "as many as a message may have" 202
post /api/sessions/busy/messages '{"text":"now this"}'
tells "or steers" .delivery steer
post /api/sessions/busy/messages '{"text":"x","mode":"run"}'
answers "but is no second run" 409
call DELETE /api/sessions/busy
answers "nor is it deleted" 409
touch "$space/go"
check "it ends" until_idle busy
same "and all was said" "now this,also this" "$(jq -r '[.transcript[] | select(.role == "user") | .content[0].text][1:] | join(",")' "$out")"
check "a follower saw it end" eventually grep -q '"type":"run_end"' "$tmp/events"
kill $follower 2>/dev/null
wait $follower 2>/dev/null

# --- coming back: a session that rests for a minute leaves the memory, and its recent events with it
# In the background, but no job of this shell: bash loses track of jobs that are killed and waited for.
apart() { # NAME COMMAND...: its output goes to $tmp/NAME, its number to $tmp/NAME.pid
    : >"$tmp/$1"
    ("${@:2}" <&0 >"$tmp/$1" 2>/dev/null & echo $! >"$tmp/$1.pid")
}
over() { # NAME: until it is; whoever inherits it may never ask how it ended
    for _ in {1..400}; do readlink "/proc/$(cat "$tmp/$1.pid")/exe" >/dev/null || return 0; sleep 0.05; done
    return 1
}
again() { # KEY LAST-EVENT-ID PATTERN: follow it, until that is heard
    apart again curl -sN -m 20 -H "Authorization: Bearer $token" -H "Last-Event-ID: $2" "$gateway/api/sessions/$1/events"
    for _ in {1..400}; do grep -q "$3" "$tmp/again" && break; sleep 0.05; done
    kill "$(cat "$tmp/again.pid")" 2>/dev/null
    over again
}
# The events that have a record, from an output of curl.
kept() { sed -n 's/^data: //p' "$1" | jq -c 'select(.type and (.ephemeral | not))'; }
first=$(kept "$tmp/events" | sed -n 3p | jq -r .cursor)
again busy "$first" '"type":"run_end".*}$'
same "a reader with Last-Event-ID gets the events after this position" "$(kept "$tmp/events" | sed 1,3d)" "$(kept "$tmp/again")"
again busy 0 '"type":"run_end".*}$'
same "the position 0 is before the first event" "$(kept "$tmp/events" | tail -n 4)" "$(kept "$tmp/again" | tail -n 4)"
for unknown in 999999 12x run_0:7; do
    again busy "$unknown" '"type":"run_end".*}$'
    same "after the unknown position $unknown come a gap and all events" "event: gap $(kept "$tmp/again" | head -n 1 | jq -r .type)" "$(grep -m 1 '^event' "$tmp/again") run_start"
done

# --- the agent's queue mode, unless the client says what it wants
user_texts() { jq -r '[.transcript[] | select(.role == "user") | .content[0].text] | join(",")' "$out"; }
busy() { # KEY AGENT: a run that waits
    rm -f "$space/waiting" "$space/go"
    post "/api/sessions/$1/messages" "{\"text\":\"wait\",\"agent\":\"$2\"}"
    for _ in {1..400}; do [ -e "$space/waiting" ] && break; sleep 0.05; done
}
busy q1 patient
post /api/sessions/q1/messages '{"text":"later","agent":"patient"}'
tells "queue mode follow_up" .delivery follow_up
post /api/sessions/q1/messages '{"text":"now","mode":"steer"}'
tells "queue mode follow_up: the client's own mode wins" .delivery steer
touch "$space/go"
check "queue mode follow_up: it ends" until_idle q1
same "queue mode follow_up: in this order" "wait,now,later" "$(user_texts)"

# Requests of the other protocols wait for their turn, and each gets its own answer and its own options.
for path in chat/completions responses messages chat; do
    busy "turn-$path" coder
    case $path in
        chat/completions) body='{"model":"coder","messages":[{"role":"user","content":"%s"}]%s}' ;;
        responses) body='{"model":"coder","input":"%s"%s}' ;;
        messages) body='{"model":"coder","max_tokens":99,"messages":[{"role":"user","content":"%s"}]%s}' ;;
        chat) body='{"id":"turn-chat","agent":"coder","messages":[{"id":"m","role":"user","parts":[{"type":"text","text":"%s"}]}]%s}' ;;
    esac
    case $path in
        chat/completions) tools=',"tools":[{"type":"function","function":{"name":"get_place","parameters":{"type":"object"}}}]' ;;
        responses) tools=',"tools":[{"type":"function","name":"get_place","parameters":{"type":"object"}}]' ;;
        messages) tools=',"tools":[{"name":"get_place","input_schema":{"type":"object"}}]' ;;
        chat) tools=',"tools":{"get_place":{"parameters":{"type":"object"}}}' ;;
    esac
    case $path in chat) address=$gateway/api/chat ;; *) address=$gateway/v1/$path ;; esac
    n=0
    pids=()
    rm -f "$tmp"/trace-*
    for words in first where; do
        # shellcheck disable=SC2059
        printf "$body" "$words" "$(if [ $words = where ]; then echo "$tools"; fi)" >"$tmp/body-$n"
        curl -sN -m 60 -H "Authorization: Bearer $token" -H "X-Chela-Session: turn-$path" -H 'Content-Type: application/json' \
            --trace-ascii "$tmp/trace-$n" --data-binary "@$tmp/body-$n" -w '\n%{http_code}\n' "$address" >"$tmp/turn-$n" &
        pids+=($!)
        check "$path: the request '$words' is sent" eventually grep -q 'Send data' "$tmp/trace-$n"
        n=$((n + 1))
        sleep 0.3
    done
    touch "$space/go"
    wait "${pids[@]}"
    same "$path: both are answered" "200 200" "$(tail -qn 1 "$tmp/turn-0" "$tmp/turn-1" | xargs)"
    check "$path: the first gets its own answer" grep -q 'first' "$tmp/turn-0"
    check "$path: the second has its own tools" grep -q get_place "$tmp/turn-1"
done
busy q2 hasty
post /api/sessions/q2/messages '{"text":"instead","stream":true}'
answers "queue mode interrupt" 200
same "queue mode interrupt: the run is cancelled, the next one is followed" "cancelled,task_completed" \
    "$(chunks | jq -rs '[.[] | select(.type == "run_end").reason] | join(",")')"
call GET /api/sessions/q2
same "queue mode interrupt: its answer" "you said: instead" "$(last_words)"
touch "$space/go"
busy q3 hasty
post /api/sessions/q3/messages '{"text":"another"}'
tells "queue mode interrupt: of no run yet" '.delivery + " " + (.run | tostring)' "interrupt null"
touch "$space/go"
check "queue mode interrupt: both end" until_idle q3
eventually_said() { for _ in {1..200}; do until_idle "$1" && [ "$(last_words)" = "$2" ] && return; sleep 0.05; done; return 1; }
check "queue mode interrupt: the second has an answer" eventually_said q3 "you said: another"
post /api/sessions/q4/messages '{"text":"one","agent":"gatherer"}'
cp "$out" "$tmp/first" # the second message comes before the silence ends
post /api/sessions/q4/messages '{"text":"two","agent":"gatherer","stream":true}'
answers "queue mode collect: followed" 200
same "queue mode collect" "collect null" "$(jq -r '.delivery + " " + (.run | tostring)' "$tmp/first")"
call GET /api/sessions/q4
same "queue mode collect: one run with both" $'one\n\ntwo' "$(user_texts)"
busy q5 gatherer
post /api/sessions/q5/messages '{"text":"three"}'
tells "queue mode collect: during a run" .delivery collect
touch "$space/go"
check "queue mode collect: its own run afterwards" eventually_said q5 "you said: three"
rm -f "$space/waiting"

# --- cancel
rm -f "$space/go" "$space/waiting"
call POST /api/sessions/one/cancel -H 'Content-Type: application/json' -d '{}'
answers "nothing to cancel" 409
post /api/sessions/stop/messages '{"text":"wait"}'
for _ in {1..100}; do [ -e "$space/waiting" ] && break; sleep 0.05; done
post /api/sessions/stop/cancel '{}'
answers "a run is cancelled" 202
check "and rests" until_idle stop
touch "$space/go"

# --- consent
post /api/sessions/careful/messages '{"text":"ask me","stream":true}'
same "a run waits for consent" approval_required "$(chunks | tail -n 1 | jq -r .reason)"
call GET /api/approvals
tells "which is listed" '.approvals | map(.session + " " + .name) | join(",")' "careful t_ask"
id=$(jq -r .approvals[0].approval_id "$out")
post /api/sessions/careful/messages '{"text":"hello?"}'
answers "it takes no words meanwhile" 409
post "/api/approvals/$id" '{"decision":"maybe"}'
answers "no such decision" 400
post /api/approvals/nothing '{"decision":"deny"}'
answers "no such approval" 404
check "nothing ran so far" [ ! -e "$space/asked.log" ]

# The decision may come after a restart.
check "the gateway stops" stop_serving
serve
post "/api/approvals/$id" '{"decision":"allow-once"}'
answers "a decision" 200
tells "and the run goes on" .resumed true
check "to its end" until_idle careful
same "the tool ran" "it said: it ran" "$(last_words)"
same "once" 1 "$(wc -l <"$space/asked.log" | tr -d ' ')"
post "/api/approvals/$id" '{"decision":"allow-once"}'
answers "a second decision comes too late" 404
call GET /api/approvals
tells "nothing waits any more" '.approvals | length' 0

# --- tools of the caller
post /api/sessions/place/messages '{"text":"where","tools":[{"name":"get_place","description":"Where."}],"stream":true}'
same "a run waits for its caller" client_tool_required "$(chunks | tail -n 1 | jq -r .reason)"
id=$(chunks | jq -r 'select(.type == "client_tool_required").id')
post /api/sessions/place/messages '{"results":[{"id":"forged","content":"x"}]}'
answers "a result for no call" 404
post /api/sessions/place/messages "{\"results\":[{\"id\":\"$id\",\"content\":{\"city\":\"Rome\"}}]}"
answers "a result that is no text" 400
check "the error names its content" grep -qF '`content`' "$out"
both="{\"results\":[{\"id\":\"$id\",\"content\":\"Rome\"},{\"id\":\"forged\",\"content\":\"x\"}]}"
post /api/sessions/place/messages "$both"
answers "beside a result for the call" 404
check "the gateway stops while the call waits" stop_serving
serve
post /api/sessions/place/messages "$both"
answers "both again, after a restart" 404
post /api/sessions/place/messages "{\"results\":[{\"id\":\"$id\",\"content\":\"Oslo\"}],\"stream\":true}"
same "its result" "it said: Oslo" "$(chunks | tail -n 1 | jq -r .text)"
post /api/sessions/place/messages "{\"results\":[{\"id\":\"$id\",\"content\":\"Rome\"}]}"
case $code in 404 | 409) ok "a second one comes too late" ;; *) not_ok "a second one comes too late" "$code" ;; esac

# --- Chat Completions in a session: history is not doubled
hello() {
    post /v1/chat/completions "{\"model\":\"coder\",\"messages\":[$1]}" -H 'X-Chela-Session: openai'
}
hello '{"role":"user","content":"first"}'
tells "a session by its name" '.chela.session + " " + .choices[0].message.content' "openai you said: first"
hello '{"role":"user","content":"first"},{"role":"assistant","content":"you said: first"},{"role":"user","content":"second"}'
tells "goes on" .choices[0].message.content "you said: second"
call GET /api/sessions/openai
tells "without doubling" '[.transcript[] | .role] | join(",")' "user,assistant,user,assistant"
hello '{"role":"user","content":"first"},{"role":"assistant","content":"x"}'
answers "nothing new" 400

# --- single tools
post /tools/invoke '{"tool":"calculate","args":{"expression":"6*7"}}'
tells "a tool alone" '.content | contains("42")' true
post /tools/invoke '{"tool":"t_ask","args":{}}'
tells "one that needs consent is refused" .is_error true
post /tools/invoke '{"tool":"nothing"}'
tells "one that is not there" .is_error true
post /tools/invoke '{"args":{}}'
answers "no name" 400

# --- over a WebSocket; frames by hand: a mask of zeros changes nothing
key='Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='
upgrade=(-H 'Connection: Upgrade' -H 'Upgrade: websocket' -H 'Sec-WebSocket-Version: 13' -H "$key")
ws_open() { # TARGET HEADER...: what comes goes to $tmp/ws
    exec 8<>"/dev/tcp/127.0.0.1/${gateway##*:}"
    printf '%s\r\n' "GET /api/sessions/$1 HTTP/1.1" 'Host: 127.0.0.1' 'Connection: Upgrade' 'Upgrade: websocket' \
        'Sec-WebSocket-Version: 13' "$key" "${@:2}" '' >&8
    apart ws cat <&8
    heard '^HTTP/1.1 [0-9]'
}
heard() { # PATTERN: until it is
    for _ in {1..400}; do LC_ALL=C grep -aq "$1" "$tmp/ws" && return 0; sleep 0.05; done
    return 1
}
ws_send() { # BYTES, as of printf
    printf '%b' "$1" >&8
}
ws_say() { # JSON
    local size
    if [ ${#1} -lt 126 ]; then printf -v size '\\x%02x' $((${#1} | 128)); else printf -v size '\\xfe\\x%02x\\x%02x' $((${#1} >> 8)) $((${#1} & 255)); fi
    ws_send "\\x81$size\\0\\0\\0\\0"
    printf %s "$1" >&8
}
ws_frames() {
    LC_ALL=C tr '\201' '\n' <"$tmp/ws" | LC_ALL=C grep -ao '{"type":.*}'
}
ws_close() {
    exec 8>&-
    kill "$(cat "$tmp/ws.pid")" 2>/dev/null
    over ws
}
says() { # NAME FILTER WANT: one frame of a filter
    same "$1" "$3" "$(ws_frames | jq -rs "$2")"
}
bearer="Authorization: Bearer $token"
anon GET /api/sessions/ws/socket "${upgrade[@]}"
answers "a WebSocket needs the token" 401
anon GET "/api/sessions/ws/socket?token=$token&bearer=$token" "${upgrade[@]}"
answers "not in the address" 401
anon GET /api/sessions/ws/socket "${upgrade[@]}" -H 'Sec-WebSocket-Protocol: chela.v1, bearer.another-0123456789abcdef'
answers "nor another one" 401
anon GET /api/sessions "${upgrade[@]}" -H "Sec-WebSocket-Protocol: chela.v1, bearer.$token"
answers "nor in that place for other paths" 401
call GET /api/sessions/ws/socket "${upgrade[@]}" -H 'Origin: https://evil.example'
answers "nor for pages of others" 403
call GET /api/sessions/ws/socket
answers "it must be asked for" 426
same "by its name" websocket "$(tr -d '\r' <"$err" | sed -n 's/^upgrade: //Ip')"
call GET /api/sessions/ws/socket "${upgrade[@]}" -H 'Sec-WebSocket-Protocol: chat'
answers "in its protocol" 400
call GET "/api/sessions/$(head -c 300 /dev/zero | tr '\0' k)/socket" "${upgrade[@]}"
answers "for a key that can be one" 400
call GET /api/sessions/ws/socket --http2-prior-knowledge
answers "and over HTTP/1.1" 501
ws_open ws/socket "Sec-WebSocket-Protocol: chela.v1, bearer.$token"
check "as a page would ask" heard '^HTTP/1.1 101 '
check "its key is answered" heard '^Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo='
same "and one protocol chosen" chela.v1 "$(tr -d '\r' <"$tmp/ws" | LC_ALL=C sed -n 's/^Sec-WebSocket-Protocol: //p')"
ws_say '{"type":"message","text":"hello","ref":7}'
check "a message begins a session" heard '"type":"run_end".*}}'
says "and is acknowledged" '.[] | select(.type == "ack") | [.ref, .status, .session, .delivery] | join(" ")' "7 202 ws run"
again ws 0 '"type":"run_end".*}$'
same "its stored events are those of /events" "$(kept "$tmp/again")" "$(ws_frames | grep -v '^{"type":"ack"' | jq -c 'select(.ephemeral | not)')"
says "the pieces of the answer are the answer" '[.[] | select(.type == "text_delta" and .ephemeral) | .text] | add' "you said: hello"
ws_say '{"type":"cancel","ref":"c"}'
check "what cannot be done" heard '"ref":"c".*}'
says "is said" '.[] | select(.ref == "c") | [.type, .status, .error.code] | join(" ")' "error 409 idle"
ws_say '{"type":"dance","ref":"d"}'
check "nor what is no request" heard '"ref":"d".*}'
ws_say '[1'
check "nor what is no JSON" heard 'is not valid JSON'
ws_say '{"type":"message","ref":"e"}'
check "nor a message without words" heard '"ref":"e".*}'
says "each with its status" '[.[] | select(.type == "error") | .status] | join(",")' "409,400,400,400"
ws_close

rm -f "$space/go" "$space/waiting"
ws_open ws/socket "$bearer"
ws_say '{"type":"message","text":"wait"}'
for _ in {1..100}; do [ -e "$space/waiting" ] && break; sleep 0.05; done
ws_say '{"type":"steer","text":"and this","ref":"s"}'
check "a run is steered" heard '"ref":"s".*}'
says "as over POST" '.[] | select(.ref == "s") | .delivery' steer
ws_say '{"type":"cancel","ref":"c"}'
check "and cancelled" heard '"type":"run_end".*}}'
# The steering was too late for the run: it begins the next one, whose end may be heard as well.
says "as over POST, too" '[.[] | select(.type == "run_end") | .status][0]' cancelled
touch "$space/go"
ws_say '{"type":"message","text":"ask me"}'
check "a call waits for consent" heard '"reason":"approval_required".*}}'
id=$(ws_frames | jq -r 'select(.type == "approval_required") | .approval_id')
ws_say "{\"type\":\"approval\",\"id\":\"$id\",\"decision\":\"maybe\",\"ref\":1}"
check "no such decision" heard '"ref":1.*}'
ws_say "{\"type\":\"approval\",\"id\":\"$id\",\"decision\":\"deny\",\"reason\":\"no\",\"ref\":2}"
check "it is decided about" heard '"ref":2.*}'
check "and goes on" heard '"text":"it said: .*The user was asked.*}}'
says "one refused, one taken" '[.[] | select(.ref == 1 or .ref == 2) | .status] | join(",")' "400,200"
all=$(ws_frames | grep '"run":"' | jq -c 'select(.cursor and (.ephemeral | not))')
ws_close
after=$(sed -n 3p <<<"$all" | jq -r .cursor)
ws_open "ws/socket?after=$after" "$bearer"
check "coming back" heard '"text":"it said: .*The user was asked.*}}'
same "?after goes on behind it" "$(sed 1,3d <<<"$all")" "$(ws_frames)"
ws_close
ws_open "ws/socket?after=run_0:7" "$bearer"
check "an unknown one is told of the gap" heard '{"type":"gap"}'
ws_close

ends_with() { # NAME CODE BYTES: what comes of them, a close frame with that code
    ws_open ws/socket "$bearer"
    ws_send "$3"
    over ws
    same "$1" "$2" "$(LC_ALL=C tr '\n' ' ' <"$tmp/ws" | LC_ALL=C sed 's/.*\r \r //' | od -An -tu1 | tr -s ' \n' ' ' | awk '$1 == 136 { print 256 * $3 + $4 }')"
    exec 8>&-
}
ends_with "a frame without a mask" 1002 '\x81\x02{}'
ends_with "an extension" 1002 '\xc1\x82\0\0\0\0{}'
ends_with "a ping in parts" 1002 '\x09\x80\0\0\0\0'
ends_with "a long ping" 1002 '\x89\xfe\x00\x7e\0\0\0\0'
ends_with "no UTF-8" 1007 '\x81\x82\0\0\0\0\xff\xff'
ends_with "more than there is room for" 1009 '\x81\xff\0\0\0\0\x7f\0\0\0\0\0\0\0'
ends_with "a goodbye" 1000 '\x88\x82\0\0\0\0\x03\xe8'
post /api/sessions/ws/messages '{"text":"hello"}'
answers "nobody else noticed" 202
check "nor is it busy" until_idle ws

# --- what it counts
call GET /metrics
check "metrics are there" grep -q '^chela_runs_total [1-9]' "$out"
anon GET /metrics
answers "for those who may see them" 401

call DELETE /api/sessions/one
answers "a session is deleted" 200
call GET /api/sessions/one
answers "and gone" 404

# --- stopped in the middle of a run
rm -f "$space/go" "$space/waiting"
sed -i '1i gateway: { drainSec: 1 }' "$space/chela.yaml"
check "it stops" stop_serving
serve
post /api/sessions/cut/messages '{"text":"wait"}'
for _ in {1..100}; do [ -e "$space/waiting" ] && break; sleep 0.05; done
check "a run that does not end does not keep it" stop_serving
touch "$space/go"
serve
resumed() {
    call GET /api/sessions/cut
    [ "$(jq -r '.status + ": " + .transcript[-1].content[0].text' "$out")" = "idle: it said: done waiting" ]
}
check "the next gateway takes the run up" eventually resumed
post /api/sessions/cut/messages '{"resume":true}'
answers "once" 409

# --- killed in the middle of a run
rm -f "$space/go" "$space/waiting"
post /api/sessions/killed/messages '{"text":"wait"}'
for _ in {1..100}; do [ -e "$space/waiting" ] && break; sleep 0.05; done
kill -9 "$gateway_pid"
wait "$gateway_pid" 2>/dev/null
touch "$space/go"
serve
went_on() {
    call GET /api/sessions/killed
    [ "$(jq -r '.status + ": " + .transcript[-1].content[0].text' "$out")" = "idle: it said: done waiting" ]
}
for _ in {1..200}; do went_on && break; sleep 0.1; done
check "the next gateway takes the run up by itself" went_on
rm -f "$space/go" "$space/waiting"
sed -i 's/drainSec: 1 /drainSec: 60 /' "$space/chela.yaml"
check "it stops again" stop_serving
serve
post /api/sessions/drained/messages '{"text":"wait"}'
for _ in {1..100}; do [ -e "$space/waiting" ] && break; sleep 0.05; done
kill -TERM "$gateway_pid"
touch "$space/go"
for _ in {1..600}; do kill -0 "$gateway_pid" 2>/dev/null || break; sleep 0.05; done
serve
call GET /api/sessions/drained
same "one that comes to its end may do so" "it said: done waiting" "$(last_words)"

# --- reload
cp "$space/chela.yaml" "$tmp/good.yaml"
echo 'agents: 7' >"$space/chela.yaml"
kill -HUP "$gateway_pid"
for _ in {1..100}; do grep -q 'stays as it was' "$serve_log" && break; sleep 0.05; done
check "a wrong configuration is refused" grep -q 'stays as it was: .*chela.yaml:1' "$serve_log"
call GET /v1/models
tells "and the last good one holds" '.data[0].id' coder
sed 's/id: coder/id: painter/' "$tmp/good.yaml" >"$space/chela.yaml"
kill -HUP "$gateway_pid"
for _ in {1..100}; do grep -q 'read again' "$serve_log" && break; sleep 0.05; done
call GET /v1/models
tells "a good one is taken" '.data[0].id' painter
post /v1/chat/completions '{"model":"painter","messages":[{"role":"user","content":"hi"}]}'
answers "and works" 200
ws_open ws/socket "$bearer"
check "a client that stays" heard '^HTTP/1.1 101 '
check "the token is not in the log" bash -c "! grep -qF '$token' '$serve_log'"
check "SIGTERM ends it" stop_serving
same "who stays is told so" "3 233" "$(LC_ALL=C tr '\n' ' ' <"$tmp/ws" | LC_ALL=C sed 's/.*\r \r //' | od -An -tu1 | awk '$1 == 136 { print $3, $4 }')"
ws_close
# --- the agent of a session that is not in memory
cp "$tmp/good.yaml" "$space/chela.yaml"
serve
for key in quiet kept more; do
    post "/api/sessions/$key/messages" '{"text":"hello","agent":"quiet"}'
    check "$key is a session of the last agent" until_idle "$key"
done
stop_serving
serve
said_by() { sed -n 's/^data: //p' "$out" | jq -r 'select(.type == "run_start").agent'; }
post /api/sessions/kept/messages '{"text":"again","stream":true}'
same "its agent answers after a restart" quiet "$(said_by)"
post /api/sessions/kept/messages '{"text":"and you","stream":true,"agent":"coder"}'
same "or the one that is named" coder "$(said_by)"
post /api/sessions/more/messages '{"text":"with tools","stream":true,"tools":[{"name":"look","parameters":{"type":"object"}}]}'
same "also with tools of the client" quiet "$(said_by)"
post /api/sessions/fresh/messages '{"text":"hello","stream":true}'
same "a new session has the first agent" coder "$(said_by)"
post /api/sessions/sender/messages '{"text":"tell it","stream":true}'
check "a message of another session is answered by it, too" grep -q 'it said: quiet here' "$out"
tap_done
