#!/usr/bin/env bash
# `chela serve`: what /readyz says about what it depends on, and what `chela
# doctor --url` makes of it.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/servers.sh
. tests/support/serve.sh

cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { user: "break" }, fail: { status: 400, message: "no such thing" } }
  - { say: "fine" }
YAML
cat >"$space/chela.yaml" <<'YAML'
store: "memory:"
agents: { list: [{ id: coder, model: scripted/rules.yaml }] }
YAML
program=$(realpath "$program")
statuses='.status + ": " + ([.checks[] | .name + " " + .status] | join(", "))'
doctor() { # FLAG...; with a token as the gateway's
    (cd "$space" && with_env CHELA_TOKEN="${doctor_token-$token}" "$program" doctor "$@" >"$out" 2>"$err" </dev/null)
    status=$?
}

serve
anon GET /readyz
answers "ready" 200
tells "in all parts" "$statuses" "ok: store ok, model ok, config ok"
doctor --url "$gateway" --json
exits "doctor finds nothing" 0
same "wherever it looks" "file reach token agents ready store model config" "$(jq -r '[.[].name] | join(" ")' "$out")"
same "and all is well" ok "$(jq -r '[.[].status] | unique | join(" ")' "$out")"
same "the agents are named" coder "$(jq -r '.[] | select(.name == "agents") | .detail' "$out")"

# --- a model that fails is told of, until it works again
ask() { post /v1/chat/completions "{\"messages\":[{\"role\":\"user\",\"content\":\"$1\"}]}"; }
ask break
answers "a model call fails" 400
anon GET /readyz
answers "it goes on" 200
tells "with less" "$statuses" "degraded: store ok, model failing, config ok"
tells "a stranger is not told why" '[.checks[].detail // empty] | length' 0
call GET /readyz
check "who may know is" grep -q 'no such thing' "$out"
call GET /metrics
check "metrics have it" grep -qx 'chela_model_up 0' "$out"
doctor --url "$gateway"
exits "doctor warns" 0
check "and says why" grep -qE '^warn  gateway  model .*no such thing' "$out"
ask hello
anon GET /readyz
tells "the next one works" "$statuses" "ok: store ok, model ok, config ok"
call GET /metrics
check "metrics too" grep -qx 'chela_model_up 1' "$out"

# --- who asks wrongly
doctor_token=another-another-another doctor --url "$gateway"
exits "doctor with another token" 1
check "names it" grep -qE "^ +-> CHELA_TOKEN is not the gateway's" "$out"
doctor_token='' doctor --url "$gateway"
exits "doctor without one" 0
check "does what it can" grep -qE '^warn  gateway  token ' "$out"
check "no token is shown" bash -c "! grep -q SENTINEL '$out'"
check "it stops" stop_serving
doctor --url "$gateway"
exits "doctor of none" 1
check "it is not there" grep -qE '^fail  gateway  reach .*refused' "$out"
doctor --url nonsense
exits "doctor of no address" 1

# --- a store that is gone
# shellcheck disable=SC2119
if start_redis; then
    echo "store: $redis" >"$space/chela.yaml"
    echo 'agents: { list: [{ id: coder, model: scripted/rules.yaml }] }' >>"$space/chela.yaml"
    serve
    trap 'kill -9 $gateway_pid 2>/dev/null; stop_servers; rm -rf "$tmp"' EXIT
    until_ready() { # STATUS; what is known counts for a moment
        for _ in {1..400}; do
            call GET /readyz
            [ "$code" = "$1" ] && return
            sleep 0.05
        done
        return 1
    }
    check "with a server it is ready" until_ready 200
    freeze_server "$redis_pid"
    check "one that does not answer is not waited for" until_ready 503
    tells "and named" "$statuses" "failing: store failing, model ok, config ok"
    doctor --url "$gateway"
    exits "doctor fails" 1
    check "for that" grep -qE '^fail  gateway  store ' "$out"
    anon GET /healthz
    answers "it lives" 200
    thaw_server "$redis_pid"
    check "when it answers again all is well" until_ready 200
    kill_server "$redis_pid"
    check "one that is gone" until_ready 503
    check "says so" bash -c "jq -e '.checks[0].detail | length > 0' '$out' >/dev/null"
    start_redis
    check "one that came back" until_ready 200
    check "it stops again" stop_serving
fi
stop_servers
tap_done
