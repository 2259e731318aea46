#!/usr/bin/env bash
# `chela serve`: signed events from other programs, each exactly once.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh

secret=hook-SENTINEL-0123456789abcdef
cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { after: none, user: slow }, call: { tool: ship, args: {} } }
  - { when: { after: ship }, say: "shipped: {{result}}" }
  - { say: "heard: {{user}}" }
YAML
cat >"$space/ship" <<'SCRIPT'
#!/bin/sh
echo begun >>ship.log
while [ -e hang ]; do sleep 0.05; done
SCRIPT
chmod +x "$space/ship"
cat >"$space/chela.yaml" <<'YAML'
store: sqlite:./chela.db
agents: { list: [{ id: coder, model: scripted/rules.yaml }] }
sandbox: { mode: off }
tools: { custom: [{ name: ship, description: Ships., command: [./ship], effect: once, permission: write }] }
gateway:
  hooks:
    deploy: { secretEnv: DEPLOY_SECRET }
    joined: { secretEnv: DEPLOY_SECRET, session: all-of-them }
YAML
program=$(realpath "$program")
serve
check "without its secret nothing starts" grep -q 'hook deploy: DEPLOY_SECRET' "$serve_log"

# The secret comes with the environment of the tests' own.
eval "plain_$(declare -f with_env)"
with_env() { plain_with_env DEPLOY_SECRET=$secret "$@"; }
ulimit -S -c "$(ulimit -H -c)"
serve
same "no core file can hold the secrets" 0 "$(awk '/^Max core file size/ { print $5 }' "/proc/$gateway_pid/limits")"

sign() { # TIME BODY [SECRET]
    printf '%s.%s' "$1" "$2" | openssl dgst -sha256 -hmac "${3:-$secret}" -r | cut -d' ' -f1
}
knock() { # NAME TIME BODY SIGNATURE
    anon POST "/hooks/$1" -H 'Content-Type: application/json' -H "X-Chela-Timestamp: $2" -H "X-Chela-Signature: $4" --data-binary "$3"
}
sessions() {
    call GET /api/sessions
    jq '[.sessions[] | select(.key | startswith("hook:"))] | length' "$out"
}
now=$(date +%s)
body='{"state":"failed"}'
good=$(sign "$now" "$body")

knock deploy "$now" "$body" "sha256=$(sign "$now" "$body" other-other-other-other)"
answers "another secret" 401
knock deploy "$now" '{"state":"fine"}' "sha256=$good"
answers "another body" 401
knock deploy "$((now + 1))" "$body" "sha256=$good"
answers "another time" 401
knock deploy "$((now - 1000))" "$body" "sha256=$(sign $((now - 1000)) "$body")"
answers "too late" 401
knock deploy "$((now + 1000))" "$body" "sha256=$(sign $((now + 1000)) "$body")"
answers "too early" 401
knock nothing "$now" "$body" "sha256=$good"
answers "no such hook" 401
for signature in '' "$good" "sha256=${good:0:32}" "sha256=${good}00" sha256= "sha256=${good^^}"; do
    knock deploy "$now" "$body" "$signature"
    answers "no signature: '${signature:0:10}'" 401
done
call POST /hooks/deploy -H 'Content-Type: application/json' -d "$body"
answers "the token does not help" 401
same "nothing came of it" 0 "$(sessions)"

knock deploy "$now" "$body" "sha256=$good"
answers "an event" 202
key=$(jq -r .session "$out")
rests() { # KEY WORD
    for _ in {1..600}; do
        call GET "/api/sessions/$1"
        [ "$(jq -r .status "$out")" = idle ] && grep -q "$2" "$out" && return
        sleep 0.05
    done
    return 1
}
rests "$key" heard
check "reaches its agent" grep -q 'heard: .*deploy: .*failed' "$out"
same "as an event of a program" webhook "$(jq -r .transcript[0].role "$out")"
knock deploy "$now" "$body" "sha256=$good"
tells "again it is a duplicate" .duplicate true
check "the gateway stops" stop_serving
serve
knock deploy "$now" "$body" "sha256=$good"
tells "after a restart too" .duplicate true
same "one session came of it" 1 "$(sessions)"

knock joined "$now" "$body" "sha256=$good"
tells "events may join one session" .session all-of-them

# --- an event outlives its session
once="$(sign "$now" '{"state":"once"}')"
knock deploy "$now" '{"state":"once"}' "sha256=$once"
answers "an event" 202
key=$(jq -r .session "$out")
rests "$key" heard
call DELETE "/api/sessions/$key"
answers "its session is deleted" 200
knock deploy "$now" '{"state":"once"}' "sha256=$once"
answers "the same event again" 200
tells "is a duplicate" .duplicate true
call GET "/api/sessions/$key"
answers "and begins no session" 404

# --- a gateway that is killed in the middle of a run
touch "$space/hang"
knock deploy "$now" '{"state":"slow"}' "sha256=$(sign "$now" '{"state":"slow"}')"
answers "an event that takes long" 202
key=$(jq -r .session "$out")
for _ in {1..600}; do
    [ -s "$space/ship.log" ] && break
    sleep 0.05
done
kill -9 "$gateway_pid"
rm "$space/hang"
serve
check "the next one goes on with it by itself" rests "$key" shipped
check "knowing that the outcome is not known" grep -q 'shipped: .*unknown' "$out"
same "without making the call again" 1 "$(wc -l <"$space/ship.log")"

check "the log has no secret" bash -c "! grep -qF $secret '$serve_log'"
check "SIGTERM ends it" stop_serving
tap_done
