#!/usr/bin/env bash
# `chela serve`: signed events from other programs, each exactly once.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh

secret=hook-SENTINEL-0123456789abcdef
cat >"$space/rules.yaml" <<'YAML'
rules: [{ say: "heard: {{user}}" }]
YAML
cat >"$space/chela.yaml" <<'YAML'
store: sqlite:./chela.db
agents: { list: [{ id: coder, model: scripted/rules.yaml }] }
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
serve

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
for _ in {1..100}; do
    call GET "/api/sessions/$key"
    [ "$(jq -r .status "$out")" = idle ] && grep -q heard "$out" && break
    sleep 0.05
done
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
check "the log has no secret" bash -c "! grep -qF $secret '$serve_log'"
check "SIGTERM ends it" stop_serving
tap_done
