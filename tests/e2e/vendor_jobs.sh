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

api=openai-responses place=responses sender=Bearer # the protocol, where it puts a job, and how its key is sent
ask() { # KIND [FLAG...]
    local kind=$1
    shift
    chela run --model $api/m --base-url "$url/$kind/v1" --api-key-env PATH "$@" "Say hello."
}
posts() { grep -c "^POST /$1/v1/$place$" "$tmp/jobs.log"; }
gets() { grep -c "^GET /$1/v1/$place/resp_1 $sender" "$tmp/jobs.log"; }

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
ask gone
check "a reply that is gone: why" grep -q "no longer has the reply that it made in the background: HTTP 404: no such response" "$err"
ask expired
check "a job that never began: the run fails" [ "$status" != 0 ]
same "it was asked for once more" 2 "$(posts expired)"
ask expired_once -q
same "and then ended well" "0 Hello world." "$status $(cat "$out")"
for kind in never queued; do
    ask $kind --timeout 2
    same "$kind: a job without end: the run's time ends it" 3 "$status"
    check "$kind: with the reason" grep -q 'time' "$err"
    same "$kind: and there was one job" 1 "$(posts $kind)"
    same "$kind: the service is told to stop" 1 "$(grep -c "^POST /$kind/v1/responses/resp_1/cancel\$" "$tmp/jobs.log")"
    check "$kind: asked for with growing delays" [ "$(gets $kind)" -ge 1 ]
    check "$kind: but not often" [ "$(gets $kind)" -le 5 ]
done

# --- what a configuration asks to be made in the background

config() { # KIND
    rm -f "$space/chela.yaml"
    cat >"$space/chela.yaml" <<YAML
store: sqlite:./chela.db
providers: { jobs: { api: $api, baseUrl: "$url/$1/v1", apiKeyEnv: PATH, background: true } }
agents: { defaults: { model: jobs/m } }
YAML
}
deletes() { grep -c "^DELETE /$1/v1/$place/resp_1 $sender" "$tmp/jobs.log"; }
# The errand is sent once the reply is stored, and answered before the program ends.
for kind in asked rest whole; do
    config "$kind"
    chela run --session "$kind" --output jsonl "Say hello."
    same "$kind: the reply" "0 Hello world." "$status $(jq -r 'select(.type == "run_end").text' "$out")"
    same "$kind: no text twice" "Hello world." "$(jq -rj 'select(.type == "text_delta").text' "$out")"
    same "$kind: one job, deleted once it is fetched" "1 1" "$(posts "$kind") $(deletes "$kind")"
done
check "a stream goes on at its cursor" grep -q '^GET /rest/v1/responses/resp_1?stream=true&starting_after=4 Bearer' "$tmp/jobs.log"
check "and again" grep -q '^GET /rest/v1/responses/resp_1?stream=true&starting_after=5 Bearer' "$tmp/jobs.log"
same "the whole reply is not asked for" 0 "$(gets rest)"
same "a service without cursors is asked for the whole reply" 1 "$(gets whole)"

# kill -9 while the service makes the reply: the next process asks for the same one.
kill_polling() { # KIND
    config "$1"
    rm -f "$tmp/jobs.log.go"
    # shellcheck disable=SC2016
    (cd "$space" && with_env sh -c 'echo $$ >pid; exec "$@"' - "$program" run --session "$1" "Say hello." >/dev/null 2>&1 </dev/null) &
    killed=$!
    for _ in {1..300}; do
        [ "$(gets "$1")" -ge 1 ] && break
        sleep 0.1
    done
    kill -9 "$(<"$space/pid")"
    wait "$killed" 2>/dev/null
    before=$(gets "$1")
    : >"$tmp/jobs.log.go"
    chela sessions resume --output jsonl "$1"
}
kill_polling slow
same "after kill -9: the reply" "Hello world." "$(jq -r 'select(.type == "run_end").text' "$out")"
same "one job" "1" "$(posts slow)"
check "which was asked for again" [ "$(gets slow)" -gt "$before" ]
same "and deleted" 1 "$(deletes slow)"

# The process that was killed is started again when the job is long past.
kill_polling late_gone
same "a job that is gone by then: the run fails" 1 "$status"
check "with the reason" grep -q "no longer has the reply that it made in the background: HTTP 404" "$err"
same "and there is no second job" "1 0" "$(posts late_gone) $(deletes late_gone)"
chela sessions resume --output jsonl late_gone
same "nor when it is resumed once more" 1 "$(posts late_gone)"
kill_polling late_expired
same "a job that never began: the reply of another one" "0 Hello world." "$status $(jq -r 'select(.type == "run_end").text' "$out")"
same "of which there is one" 2 "$(posts late_expired)"
same "both are deleted" 2 "$(deletes late_expired)"

# --- Google's Interactions: the same, but for the rest of a stream, which has no cursor
api=interactions place=interactions sender=Google
rm -f "$space"/chela.* "$space/chela.db"*
for kind in body asked whole; do
    config "$kind"
    chela run --session "$kind" --output jsonl "Say hello."
    same "interactions, $kind: the reply" "0 Hello world." "$status $(jq -r 'select(.type == "run_end").text' "$out")"
    same "interactions, $kind: no text twice" "Hello world." "$(jq -rj 'select(.type == "text_delta").text' "$out")"
    same "interactions, $kind: one job, deleted once it is fetched" "1 1" "$(posts "$kind") $(deletes "$kind")"
done
same "interactions: the usage is that of the reply" "7 3" "$(jq -r 'select(.type == "run_end").usage | "\(.input) \(.output)"' "$out")"
config never
chela run --timeout 2 "Say hello."
same "interactions: the service is told to stop" "3 1" "$status $(grep -c '^POST /never/v1/interactions/resp_1/cancel$' "$tmp/jobs.log")"
kill_polling slow
same "interactions, after kill -9: the reply, of one job" "Hello world. 1" "$(jq -r 'select(.type == "run_end").text' "$out") $(posts slow)"
same "interactions: which is deleted" 1 "$(deletes slow)"
kill_polling late_gone
same "interactions, a job that is gone by then: the run fails" 1 "$status"
same "interactions: and there is no second job" "1 0" "$(posts late_gone) $(deletes late_gone)"
tap_done
