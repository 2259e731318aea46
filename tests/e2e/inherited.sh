#!/usr/bin/env bash
# A run of a gateway that was killed, taken over by a command: if the command leaves the run, or
# is killed, a gateway resumes the run.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh

program=$(realpath "$program")
command_pid=
rules() { # WHAT the model does
    cat >"$space/rules.yaml" <<YAML
rules:
  - { when: { user: "^begin" }, $1 }
  - { say: "heard: {{user}}" }
YAML
}
cat >"$space/chela.yaml" <<'YAML'
store: sqlite:./chela.db
sandbox: { mode: "off" }
agents: { list: [{ id: main, model: scripted/rules.yaml, timeouts: { idleSec: 600, firstByteSec: 600 } }] }
YAML
stall='say: never, stall_after: 0'
resume() { # KEY: in the background, until it asks the model
    : >"$tmp/resumed"
    rm -f "$tmp/resume.pid"
    # shellcheck disable=SC2016
    (cd "$space" && with_env sh -c 'echo $$ >"$1"; shift; exec "$@"' sh "$tmp/resume.pid" \
        "$program" sessions resume "$1" --config chela.yaml --output jsonl >"$tmp/resumed" 2>"$tmp/resume.err" </dev/null) &
    eventually grep -q '"THINK"' "$tmp/resumed"
    command_pid=$(cat "$tmp/resume.pid")
}
gone() { ! kill -0 "$1" 2>/dev/null; }
answered() { # KEY
    status_is "$1" idle && jq -e '[.transcript[] | select(.role == "assistant")] | length == 1' "$out" >/dev/null
}

for signal in TERM KILL; do
    rules "$stall"
    serve
    post "/api/sessions/left-$signal/messages" '{"text":"begin"}'
    answers "a run begins" 202
    check "and runs" eventually status_is "left-$signal" running
    stop_serving KILL
    resume "left-$signal"
    check "a command has taken it over" kill -0 "$command_pid"
    kill -$signal "$command_pid"
    check "the command ends ($signal)" eventually gone "$command_pid"
    rules 'say: "ended by the gateway"'
    serve
    check "a gateway resumes the run after $signal" eventually answered "left-$signal"
    check "the gateway ends" stop_serving
done

# --- a run that the command began itself is its own
rules "$stall"
serve
post /api/sessions/own/messages '{"text":"hello"}'
check "a session that a gateway used" eventually answered own
check "the gateway ends" stop_serving
: >"$tmp/resumed"
(cd "$space" && with_env sh -c 'echo $$ >"$1"; shift; exec "$@"' sh "$tmp/resume.pid" \
    "$program" run "begin" --session own --config chela.yaml --output jsonl >"$tmp/resumed" 2>"$tmp/resume.err" </dev/null) &
check "a command begins a run in it" eventually grep -q '"THINK"' "$tmp/resumed"
kill -KILL "$(cat "$tmp/resume.pid")"
serve
sleep 3
check "and no gateway resumes that" status_is own running
check "the gateway ends" stop_serving
tap_done
