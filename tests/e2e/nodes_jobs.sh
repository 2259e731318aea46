#!/usr/bin/env bash
# A reply that a service makes in the background while its gateway is killed: the gateway that goes on with the run, the same one
# after a restart or another one on the same store, fetches that reply. There is one job, and it is deleted once.
# shellcheck disable=SC2119,SC2154
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
. tests/support/servers.sh

needs python3
program=$(realpath "$program")
python3 tests/support/jobserver.py "$tmp/jobs.log" >"$tmp/port" &
jobs_pid=$!
pid_a='' pid_b='' at_a=''
kill_nodes() {
    local p
    for p in "$pid_a" "$pid_b"; do [ -z "$p" ] || kill -9 "$p"; done 2>/dev/null
    pid_a='' pid_b=''
}
trap 'kill_nodes; kill $jobs_pid 2>/dev/null; stop_servers; rm -rf "$tmp"' EXIT
check "the service of the jobs runs" eventually [ -s "$tmp/port" ]
url=http://127.0.0.1:$(sed -n 's/^port //p' "$tmp/port")

start() { # NODE STORE
    mkdir -p "$tmp/$1"
    cat >"$tmp/$1/chela.yaml" <<YAML
store: "$2"
sandbox: { mode: "off" }
providers: { jobs: { api: openai-responses, baseUrl: "$url/slow/v1", apiKeyEnv: OPENAI_API_KEY, background: true } }
agents: { list: [{ id: coder, model: jobs/m }] }
YAML
    start_node "$1" "$tmp/$1"
}
count() { grep -c "^$1" "$tmp/jobs.log"; }
polled() { [ "$(count 'GET /slow')" -ge 1 ]; }
answered() { call GET "/api/sessions/$1" && grep -q "Hello world" "$out"; }
deleted() { [ "$(count 'DELETE /slow')" -ge 1 ]; }

# story NAME STORE HEIR: gateway a is killed while it polls.
story() {
    : >"$tmp/jobs.log"
    rm -f "$tmp/jobs.log.go"
    start a "$2"
    [ "$3" = a ] || start "$3" "$2"
    gateway=$at_a
    post "/api/sessions/s-$1/messages" '{"text":"Say hello.","agent":"coder"}'
    same "$1: the message is accepted" 202 "$code"
    check "$1: the reply is asked for" eventually polled
    kill -9 "$pid_a"
    : >"$tmp/jobs.log.go"
    [ "$3" = b ] || start a "$2"
    local at=at_$3
    gateway=${!at}
    check "$1: after kill -9, the reply" eventually answered "s-$1"
    check "$1: it is deleted at the service" eventually deleted
    same "$1: one job, deleted once" "1 1" "$(count 'POST /slow/v1/responses$') $(count 'DELETE /slow')"
    same "$1: nobody cancelled it" 0 "$(count 'POST /slow/v1/responses/resp_1/cancel')"
    kill_nodes
}
story restart "sqlite:$tmp/one.db" a
if start_redis; then
    story "two" "$redis" b
elif start_postgres; then
    story "two" "$postgres" b
else
    skip "two gateways" "neither Redis nor PostgreSQL is installed here"
fi
tap_done
