#!/usr/bin/env bash
# People in the loop: a call that waits is edited, answered or taken over, on the
# terminal, by another process and over HTTP; and so is a run at any other step.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
program=$(realpath "$program")

printf '#!/bin/sh\ncat >>sent.log\necho >>sent.log\necho "sent it"\n' >"$space/send"
printf '#!/bin/sh\ntouch waiting\nwhile [ ! -e go ]; do sleep 0.02; done\necho waited\n' >"$space/waiter"
chmod +x "$space/send" "$space/waiter"
cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { user: "wait", after: none }, call: { tool: t_wait, args: {} } }
  - { when: { user: "which", after: none }, call: { tool: ask_user, args: { question: "Which one?" } } }
  - { when: { user: "both", after: none }, call: [{ tool: ask_user, args: { question: "Which?" } }, { tool: ask_user, args: { question: "When?" } }] }
  - { when: { user: "two", after: none }, call: [{ tool: send, args: { to: a } }, { tool: send, args: { to: b } }] }
  - { when: { user: "think", after: none }, stall_after: 0, say: "never" }
  - { when: { after: none }, call: { tool: send, args: { to: everybody } } }
  - { say: "it said: {{result}}" }
YAML
cat >"$space/chela.yaml" <<'YAML'
store: sqlite:./chela.db
sandbox: { mode: off }
agents: { list: [{ id: bot, model: scripted/rules.yaml, tools: { allow: [send, t_wait, ask_user] } }] }
tools:
  custom:
    - { name: send, description: Sends., command: [./send], effect: once, permission: write, confirm: true,
        parameters: { type: object, properties: { to: { type: string } }, required: [to], additionalProperties: false } }
    - { name: t_wait, description: Waits., command: [./waiter], effect: read, permission: read, timeoutSec: 60 }
YAML
waits_for() { # KEY: the id of the first call that waits there
    chela sessions show --json "$1"
    jq -r '.waiting[0] | .approval_id // .id' "$out"
}
pause() { # KEY WORDS
    chela run --session "$1" --approve ask "$2"
    id=$(waits_for "$1")
}

# --- in another process
pause edit "send it"
chela sessions resume edit --edit "$id={\"towards\":5}"
exits "an edit that does not fit" 0
check "an edit that does not fit: nothing is sent" test ! -e "$space/sent.log"
check "an edit that does not fit: the model is told" grep -q 'do not fit its schema' "$out"
pause edit2 "send it"
chela sessions resume edit2 --edit "$id={\"to\":\"bob\"}" --output jsonl
exits "an edit" 0
same "an edit: what was sent" '{"to":"bob"}' "$(cat "$space/sent.log")"
holds "an edit: the model knows" '.[-1].text | test("^it said: sent it") and test("A person changed the arguments .* to ..to.:.bob..")'
rm "$space/sent.log"
pause typo "send it"
chela sessions resume typo --edit "$id={"
exits "an edit that is no JSON" 2
check "an edit that is no JSON: said" grep -q "^chela: --edit wants ID=JSON, not '$id={'" "$err"
same "an edit that is no JSON: nothing is decided" "$id" "$(waits_for typo)"
pause answer "send it"
chela sessions resume answer --answer "$id=I have sent it by hand" --output jsonl
holds "an answer in the tool's place" '.[-1].text == "it said: I have sent it by hand"'
check "an answer in the tool's place: nothing is sent" test ! -e "$space/sent.log"
pause take "two"
chela sessions resume take --take-over ""
exits "take over without words" 2
check "take over without words: said" grep -q "^chela: --take-over '': " "$err"
chela sessions resume take --take-over "I will see to it." --output jsonl
exits "taken over" 0
holds "taken over: the person's words are the answer" '.[-1] | .text == "I will see to it." and .reason == "task_completed"'
holds "taken over: every call has a result" '[.[] | select(.type == "tool_result")] | length == 2 and all(.is_error)'
check "taken over: nothing is sent" test ! -e "$space/sent.log"
chela replay take
exits "taken over: played again" 0
chela trace take --json
holds "taken over: the trace says who" '[.[0][] | select(.kind == "model") | .title] | last == "a person, stop"'
chela run --session take --approve deny "and now"
exits "taken over: the conversation goes on" 0
pause which "which"
chela sessions resume which --answer "$id=the red one"
check "a question, answered in another process" grep -qx 'it said: the red one' "$out"
pause bad "send it"
chela sessions resume bad --edit "$id"
exits "an edit without arguments" 2

# --- on the terminal
screen=$tmp/screen
terminal() { # ANSWER: typed once the question is there
    : >"$screen"
    mkfifo "$tmp/keys"
    (cd "$space" && with_env TERM=xterm timeout -k 5 "$seconds" script -qefc \
        "exec $(printf '%q ' "$program" run --no-session 'send it')" /dev/null <"$tmp/keys" >"$screen") &
    exec 9>"$tmp/keys"
    for _ in {1..400}; do grep -q 'Allow?' "$screen" && break; sleep 0.05; done
    printf '%s\r' "$1" >&9
    wait $!
    exec 9>&-
    rm "$tmp/keys"
}
terminal 'e {"to":"ann"}'
same "the terminal: edit" '{"to":"ann"}' "$(cat "$space/sent.log")"
rm -f "$space/sent.log"
terminal 'r done already'
check "the terminal: result" grep -q 'it said: done already' "$screen"
terminal 't leave it to me'
check "the terminal: take over" grep -q 'took over' "$screen"
check "the terminal: nothing is sent" test ! -e "$space/sent.log"

# --- over HTTP, after a restart
serve
until_status() {
    for _ in {1..400}; do
        call GET "/api/sessions/$1"
        [ "$(jq -r .status "$out" 2>/dev/null)" = "$2" ] && return 0
        sleep 0.05
    done
    return 1
}
last='[.transcript[] | select(.role == "assistant")] | last | [.content[] | .text // empty] | join("")'
for key in h1 h2 h3; do
    post /api/sessions/$key/messages '{"text":"send it"}'
    until_status $key paused
done
stop_serving 9
wait
serve
ids=$(call GET /api/approvals; jq -r '.approvals[] | .session + "=" + .approval_id' "$out")
id_of() { sed -n "s/^$1=//p" <<<"$ids"; }
post "/api/approvals/$(id_of h1)" '{"decision":"edit","arguments":{"wrong":1}}'
answers "HTTP: an edit that does not fit" 400
post "/api/approvals/$(id_of h1)" '{"decision":"edit","arguments":{"to":"eve"}}'
answers "HTTP: an edit" 200
check "HTTP: an edit: it goes on" until_status h1 idle
same "HTTP: an edit: what was sent" '{"to":"eve"}' "$(cat "$space/sent.log")"
post "/api/approvals/$(id_of h2)" '{"decision":"answer","content":"by hand"}'
answers "HTTP: an answer" 200
check "HTTP: an answer: it goes on" until_status h2 idle
tells "HTTP: an answer: the model heard it" "$last" "it said: by hand"
post "/api/approvals/$(id_of h3)" '{"decision":"take-over","text":"My turn."}'
answers "HTTP: taken over" 200
check "HTTP: taken over: it ends" until_status h3 idle
tells "HTTP: taken over: with these words" "$last" "My turn."

# --- questions, over HTTP
post /api/sessions/q/messages '{"text":"both"}'
until_status q paused
call GET /api/approvals
tells "questions are listed" '[.unanswered[] | select(.session == "q") | .name + " " + .arguments] | sort | join(",")' 'ask_user {"question":"When?"},ask_user {"question":"Which?"}'
tells "beside what needs consent" '[.approvals[] | select(.session == "q")] | length' 0
asks() { jq -r --arg q "$1" '.unanswered[] | select(.session == "q" and (.arguments | fromjson | .question) == $q) | .id' "$tmp/asked"; }
cp "$out" "$tmp/asked"
post /api/sessions/q/messages "{\"results\":[{\"id\":\"$(asks 'Which?')\",\"content\":\"the red one\"}]}"
answers "an answer to one of two" 202
tells "the run waits for the other" '.delivery + " " + (.resumed | tostring)' "results false"
post /api/sessions/q/messages '{"results":[]}'
answers "an answer to none" 409
post /api/sessions/q/messages "{\"results\":[{\"id\":\"$(asks 'When?')\",\"content\":\"now\"}]}"
tells "and goes on with it" .resumed true
check "to its end" until_status q idle
tells "with both" '[.transcript[] | .content[] | select(.type == "tool_result") | .content | if type == "string" then . else map(.text) | join("") end] | sort | join(",")' "now,the red one"
call GET /api/approvals
tells "nothing is unanswered any more" '[.unanswered[] | select(.session == "q")] | length' 0

# --- cancelled while people are asked
for words in both two; do
    key=k$words
    post /api/sessions/$key/messages "{\"text\":\"$words\"}"
    until_status $key paused
    post /api/sessions/$key/cancel '{}'
    answers "$key: a run that waits for people is cancelled" 202
    check "$key: and over" until_status $key idle
    tells "$key: nothing waits any more" '.waiting | length' 0
    tells "$key: its calls have results" '[.transcript[] | .content[] | select(.type == "tool_result") | .content | tostring | contains("cancelled")] | all' true
    post /api/sessions/$key/cancel '{}'
    answers "$key: once" 409
done
post /api/sessions/kd/messages '{"text":"two"}'
until_status kd paused
kill -9 "$gateway_pid"
wait "$gateway_pid" 2>/dev/null
serve
post /api/sessions/kd/cancel '{}'
answers "after a crash, too" 202
check "and over" until_status kd idle
call GET /api/approvals
tells "nobody is asked any more" '[.approvals[] | select(.session | test("^k"))] | length' 0

# --- at any other step
post /api/sessions/w/messages '{"text":"wait"}'
for _ in {1..400}; do [ -e "$space/waiting" ] && break; sleep 0.05; done
post /api/sessions/w/messages '{"text":"Enough.","mode":"take_over"}'
answers "while a tool works" 202
check "while a tool works: it ends" until_status w idle
tells "while a tool works: with these words" "$last" "Enough."
touch "$space/go"
post /api/sessions/t/messages '{"text":"think"}'
check "while the model thinks" until_status t running
post /api/sessions/t/messages '{"text":"Let me.","mode":"take_over"}'
answers "while the model thinks" 202
check "while the model thinks: it ends" until_status t idle
tells "while the model thinks: with these words" "$last" "Let me."
post /api/sessions/t/messages '{"text":"Me again.","mode":"take_over"}'
answers "when nothing is under way" 409
stop_serving
tap_done
