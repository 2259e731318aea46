#!/usr/bin/env bash
# What an event that controls a run does to a session: decisions, results, cancel, resume, delete and others, in
# every state of a session, through every door of the gateway. tests/conversations/doors/events states the outcomes.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
. tests/support/lark.sh
. tests/support/doors.sh

program=$(realpath "$program")
cells=tests/conversations/doors/events
start_lark
doors_config "$space" $cells
serve
check "the gateway listens" [ -n "$gateway" ] || { cat "$serve_log"; exit 1; }
doors $cells
doors table docs/sessions.md tests/conversations/doors/messages $cells

# --- runs that an earlier process left paused: what resumes them must not answer their calls
tools='"tools":[{"name":"get_place","description":"Where.","parameters":{"type":"object"}}]'
post /api/sessions/left-client/messages "{\"text\":\"place\",$tools}"
post /api/sessions/left-approval/messages '{"text":"approve"}'
post /api/sessions/left-person/messages '{"text":"question"}'
for state in client approval person; do eventually status_is left-$state paused; done
stop_serving KILL
serve
for state in client approval person; do
    post /api/sessions/left-$state/messages '{"resume":true}'
    same "a run that waits ($state) is not resumed after a restart" 409 "$code"
    check "it still waits ($state)" status_is left-$state paused
    same "for the same call ($state)" toolu_0001 "$(jq -r '.waiting[0].id' "$out")"
done
post /api/sessions/left-client/messages '{"results":[{"id":"toolu_0001","content":"here"}]}'
check "a result continues the run" eventually status_is left-client idle
call GET /api/sessions/left-client
same "with this result" here "$(jq -r '[.transcript[].content[] | select(.type == "tool_result")][0].content' "$out")"
tap_done
