#!/usr/bin/env bash
# A service that makes its reply in the background: the reply is asked for until it is there, and the request is sent once, because each
# one is a job that costs.
# shellcheck disable=SC2119,SC2154
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh

needs python3
python3 tests/support/jobserver.py "$tmp/jobs.log" >"$tmp/port" &
server_pid=$!
trap 'kill $server_pid 2>/dev/null; rm -rf "$tmp"' EXIT
for _ in {1..200}; do
    [ -s "$tmp/port" ] && break
    sleep 0.05
done
url=http://127.0.0.1:$(sed -n 's/^port //p' "$tmp/port")

ask() { # KIND [FLAG...]
    local kind=$1
    shift
    chela run --model openai-responses/m --base-url "$url/$kind/v1" --api-key-env PATH "$@" "Say hello."
}
posts() { grep -c "^POST /$1/" "$tmp/jobs.log"; }
gets() { grep -c "^GET /$1/v1/responses/resp_1 Bearer" "$tmp/jobs.log"; }

for kind in body stream cut; do
    ask "$kind" -q
    same "$kind: the reply" "0 Hello world." "$status $(cat "$out")"
    same "$kind: one job" 1 "$(posts "$kind")"
done
same "a request that fails is made again" 4 "$(gets body)"
ask cut --output jsonl
same "text that was shown is not shown again" "Hello world." "$(jq -rj 'select(.type == "text_delta").text' "$out")"
same "the usage is that of the reply" "7 3" "$(jq -r 'select(.type == "run_end").usage | "\(.input) \(.output)"' "$out")"
for kind in gone down failed; do
    ask "$kind" --max-errors 1
    check "$kind: the run fails" [ "$status" != 0 ]
done
same "a reply that is gone: no second job" "1 1" "$(posts gone) $(gets gone)"
same "a service that refuses: no second job" "1 1" "$(posts down) $(gets down)"
check "a job that failed: its error" grep -q "the job broke" "$err"
ask never --timeout 2
check "a job without end: the run's time ends it" [ "$status" != 0 ]
same "and there was one job" 1 "$(posts never)"
check "asked for with growing delays" [ "$(gets never)" -ge 1 ]
check "but not often" [ "$(gets never)" -le 5 ]
tap_done
