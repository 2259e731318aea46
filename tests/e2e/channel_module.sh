#!/usr/bin/env bash
# A channel outside the tree: examples/channel, built with the installed headers alone.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh

program=$(realpath "$program")
root=$PWD
mkdir "$tmp/module" "$tmp/room"
: >"$tmp/room/tell"
: >"$tmp/room/said"
"${CC:-cc}" -O1 -Wall -Wextra -Werror -I"$root/include" -fPIC -fvisibility=hidden -shared \
    -o "$tmp/module/libchela-channel-linechat.so" "$root/examples/channel/linechat.c" 2>"$tmp/cc"
check "the example builds with the public headers" test ! -s "$tmp/cc"
"$root/examples/channel/linechatd" "$tmp/room" sesame-SENTINEL >"$tmp/room/port" &
server_pid=$!
until [ -s "$tmp/room/port" ]; do sleep 0.01; done
port=$(cat "$tmp/room/port")
eval "plain_$(declare -f with_env)"
with_env() { plain_with_env CHELA_MODULE_PATH="$tmp/module" LINECHAT_PASSWORD=sesame-SENTINEL "$@"; }

printf '#!/bin/sh\necho done >>deployed\necho "deployed it"\n' >"$space/deploy"
chmod +x "$space/deploy"
cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { user: "something long" }, say: "LONG" }
  - { when: { user: "ship first", after: none }, call: { tool: deploy, args: { to: first } } }
  - { when: { user: "ship second", after: none }, call: { tool: deploy, args: { to: second } } }
  - { when: { user: "ship third", after: none }, call: { tool: deploy, args: { to: third } } }
  - { when: { after: deploy }, say: "it said: {{result}}" }
  - { say: "heard: {{user}}" }
YAML
sed -i "s/LONG/$(for i in $(seq 400); do printf 'line %s\\\\n' "$i"; done)/" "$space/rules.yaml"
cat >"$space/chela.yaml" <<YAML
store: sqlite:./chela.db
agents: { list: [{ id: coder, model: scripted/rules.yaml }] }
tools:
  custom:
    - { name: deploy, description: Ships it., command: [./deploy], permission: write, confirm: true, parameters: { type: object } }
channels:
  linechat: { passwordEnv: LINECHAT_PASSWORD, server: "127.0.0.1:$port", allowFrom: [ann], groups: ["a:b/c~d"], owners: [boss] }
YAML

tell() { printf '%s %s %s %s\n' "$@" >>"$tmp/room/tell"; }
said() { sed 's/^[^ ]* [^ ]* //' "$tmp/room/said"; }
count() { wc -l <"$tmp/room/said"; }
says() { eventually grep -qF -- "$1" "$tmp/room/said"; }
wait_for() { for _ in {1..600}; do [ "$(count)" -ge "$1" ] && return; sleep 0.1; done; return 1; }

run_in() { (cd "$space" && with_env "$program" "$@" >"$out" 2>"$err"); status=$?; }
run_in config check --config chela.yaml
same "its options are known" 0 "$status"
sed 's/server:/sever:/' "$space/chela.yaml" >"$space/wrong.yaml"
run_in config check --config wrong.yaml
same "a misspelt one is an error" 2 "$status"
check "with the right name" grep -q 'channels.linechat.sever: unknown key, did you mean server' "$err"
sed 's/passwordEnv: LINECHAT_PASSWORD/password: sesame/' "$space/chela.yaml" >"$space/wrong.yaml"
run_in config check --config wrong.yaml
check "a secret in the file is refused" grep -q 'a secret must not be in this file: use passwordEnv or passwordFile' "$err"
sed 's/linechat:/lynechat:/' "$space/chela.yaml" >"$space/wrong.yaml"
run_in config check --config wrong.yaml
check "a channel without a module" grep -q 'there is no module libchela-channel-lynechat.so' "$err"
run_in init --yes --no-test --model scripted/demo --channel linechat --config new.yaml
same "init knows it" 0 "$status"
check "and its options" grep -q 'passwordEnv: LINECHAT_PASSWORD' "$space/new.yaml"
run_in channels test linechat --to @ann --config chela.yaml
same "channels test sends a message" 0 "$status"
check "there" grep -q '@ann Test message of chela: ' "$tmp/room/said"
: >"$tmp/room/said"
run_in doctor --config chela.yaml
check "doctor knows it" grep -qE '^ok +channel +linechat +its secrets are there' "$out"

serve
tell m1 @ann ann 'good morning'
check "a message is answered" wait_for 1
check "with what the agent says" grep -qF 'heard: ' "$tmp/room/said"
tell m2 @eve eve 'let me in'
tell m3 'a:b/c~d' eve 'nobody is meant'
tell m4 'a:b/c~d' eve 'hello @crab'
check "in a room with any characters" wait_for 2
check "it answers there" grep -qF ' a:b/c~d heard: ' "$tmp/room/said"
tell m4 'a:b/c~d' eve 'hello @crab'
tell m5 @ann ann 'something long'
check "a long answer comes in parts" says 'line 400'
call GET '/api/sessions'
check "the session has a key of its own" grep -qF '"linechat:a~3Ab~2Fc~7Ed"' "$out"
call GET '/api/sessions/linechat:a~3Ab~2Fc~7Ed'
same "by which it is found" 200 "$code"

# --- consent in words: the service has no buttons
asked() { said | sed -n "s/.*$1.*To decide, write to the bot: .approve \(ap_[^,]*\), .approve ap_[^ ]* allow-always, or .deny ap_[^ ]* REASON$/\1/p" | tail -n 1; }
question() { [ -n "$(asked "$1")" ]; }
tell q1 'a:b/c~d' ann '@crab ship first'
check "a question says how to decide" eventually question first
approval=$(asked first)
tell q2 'a:b/c~d' ann "@crab /approve $approval"
check "who may not decide is told" says 'Only an owner of this channel may do that.'
tell q3 @boss boss "/approve $approval"
check "an owner decides in the chat of the question only" says 'No call with that id waits here.'
tell q4 'a:b/c~d' boss "@crab /approve ap_unknown"
tell q5 'a:b/c~d' boss "@crab /deny ap_unknown"
waits_twice() { [ "$(said | grep -c 'No call with that id waits here.')" -ge "$1" ]; }
check "an unknown id decides nothing" eventually waits_twice 3
check "until then the call does not run" test ! -e "$space/deployed"
tell q6 'a:b/c~d' boss "@crab /approve $approval"
check "the owner's word counts" says "Allowed: $approval"
check "and the call runs" says 'a:b/c~d it said: deployed it'
tell q7 @boss boss 'ship second'
check "a second question" eventually question second
tell q8 @boss boss "/deny $(asked second) not on a Friday"
check "is denied" says "Denied: $(asked second)"
check "with the reason, which the model sees" says 'denied in the chat by boss: not on a Friday'
tell q9 @boss boss 'ship third'
check "a third" eventually question third
tell q10 @boss boss '/deny ask me tomorrow'
check "the only one needs no id" says 'denied in the chat by boss: ask me tomorrow'
same "what was denied did not run" 1 "$(wc -l <"$space/deployed")"
decided=$(count)

for i in {1..10}; do
    tell "k$i" @ann ann "number $i"
    sleep "0.0$((i % 10))"
    kill -9 "$gateway_pid"
    wait "$gateway_pid" 2>/dev/null
    serve
    says "number $i" # messages that wait together would be answered together
done
check "killed ten times, all are answered" wait_for $((decided + 10))
check "SIGTERM ends it" stop_serving
same "each once" "$(seq 1 10 | sed 's/^/number /' | sort)" "$(said | grep -o 'number [0-9]*' | sort)"
same "nobody else was" 0 "$(said | grep -c 'let me in\|nobody is meant')"

# --- the cost of a message does not grow with the square of the chats that are open
rm -f "$space"/chela.db*
sed -i 's/allowFrom: \[ann\]/dmPolicy: open/; 1i durability: turn' "$space/chela.yaml"
serve
cpu() { awk '{ print $14 + $15 }' "/proc/$gateway_pid/stat"; }
burst() { # NAME CHATS: one message in each chat; sets cost, in ticks of the processor
    local before answered
    before=$(cpu) answered=$(count)
    for ((i = 1; i <= $2; i++)); do echo "$1$i @p$i p$i hello"; done >>"$tmp/room/tell"
    wait_for $((answered + $2))
    cost=$(($(cpu) - before))
}
burst open 200
burst few 200
few=$cost
burst more 900
burst many 200
check "200 messages: $few ticks with 200 chats, $cost with 900" test "$cost" -le $((5 * few + 20))
tap_done
