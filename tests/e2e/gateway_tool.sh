#!/usr/bin/env bash
# `chela serve`: the tool `gateway`, with which an owner has the configuration
# looked at and changed from a chat, and nobody else has.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
. tests/support/lark.sh

program=$(realpath "$program")
start_lark
cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { after: gateway }, say: "gateway: {{result}}" }
  - { when: { user: "look up" }, call: { tool: gateway, args: { action: lookup, key: gateway.drainSec } } }
  - { when: { user: "show all" }, call: { tool: gateway, args: { action: get } } }
  - { when: { user: "be patient" }, call: { tool: gateway, args: { action: patch, key: gateway.drainSec, value: 33 } } }
  - { when: { user: "more turns" }, call: { tool: gateway, args: { action: patch, key: "agents.list[coder].limits.maxTurns", value: 12 } } }
  - { when: { user: "make me owner" }, call: { tool: gateway, args: { action: patch, key: channels.feishu.owners, value: [ou_eve] } } }
  - { when: { user: "be nonsense" }, call: { tool: gateway, args: { action: patch, key: gateway.drainSec, value: soon } } }
  - { when: { user: "read it again" }, call: { tool: gateway, args: { action: reload } } }
  - { when: { user: "begin anew" }, call: { tool: gateway, args: { action: restart } } }
  - { say: "heard" }
YAML
cat >"$space/chela.yaml" <<YAML
# the whole of it
store: sqlite:./chela.db
providers: { house: { api: openai, baseUrl: "http://127.0.0.1:9", headers: { X-Key: header-SENTINEL-value } } }
agents:
  list:
    - id: coder # the only one
      model: scripted/rules.yaml
      tools: { gateway: true }
channels:
  feishu: { appId: $app, domain: $lark, dmPolicy: open, groupPolicy: open, requireMention: false, owners: [ou_boss] }
gateway:
  drainSec: 7 # not long
YAML
chmod 640 "$space/chela.yaml"
mv "$space/chela.yaml" "$space/real.yaml"
ln -s real.yaml "$space/chela.yaml"
echo mine >"$space/real.yaml.new"
cp "$space/chela.yaml" "$tmp/first.yaml"
n=0 answered=0
say() { # SENDER TEXT [CHAT] [TYPE]
    n=$((n + 1))
    push "$(event "om_$n" "${3:-oc_boss}" "${4:-p2p}" "$2" "$1")"
}
nth() { # a message that people see, as it was sent; of a post its words
    sed -n "${1}s/^[^ ]* //p" "$tmp/lark/sent" |
        jq -r '.content | fromjson | if .zh_cn then .zh_cn.content[0][0].text else tojson end'
}
next() { # TEST PATTERN: the next one says so
    answered=$((answered + 1))
    if hears $answered && nth $answered | grep -q -- "$2"; then
        ok "$1"
    else
        not_ok "$1" "$(nth $answered)"
    fi
}
agrees() { # TEST PATTERN: an owner does, and the call's result says so
    say ou_boss '/approve allow-once'
    answered=$((answered + 2))
    if hears $answered && { nth $((answered - 1)) && nth $answered; } | grep -q -- "$2"; then
        ok "$1"
    else
        not_ok "$1" "$(nth $answered)"
    fi
}
unchanged() { cmp "$space/chela.yaml" "$tmp/first.yaml"; }
taken_up() { # TIMES
    for _ in {1..400}; do
        [ "$(grep -c 'was read again' "$serve_log")" -ge "$1" ] && return
        sleep 0.05
    done
    return 1
}

# The file of the directory, which the user trusts: a change by the tool does not end that.
(cd "$space" && believe)
untrusted=1
serve
# --- for its owner
say ou_boss 'look up'
next "an option is explained" 'whole number from 1 to 3600, default 10. time that runs have to finish'
say ou_boss 'show all'
next "what is set is shown" 'gateway.drainSec = 7'
check "secrets are not" bash -c "! grep -q SENTINEL '$tmp/lark/sent'"
say ou_boss 'be patient'
next "a change is asked about" '-  drainSec: 7 # not long'
check "with what comes instead" bash -c "tail -n 1 '$tmp/lark/sent' | grep -qF '+  drainSec: 33 # not long'"
check "and not made before" unchanged
agrees "the owner agrees, and it is written" 'gateway: Written'
check "and taken up" taken_up 1
same "one line is another, no comment is lost" "$(sed 's/drainSec: 7/drainSec: 33/' "$tmp/first.yaml")" "$(cat "$space/chela.yaml")"
same "the file's mode stays" 640 "$(stat -Lc %a "$space/chela.yaml")"
same "a link stays one" real.yaml "$(readlink "$space/chela.yaml")"
same "the version before it is kept, and nothing taken away" "real.yaml real.yaml.new real.yaml.previous" "$(cd "$space" && echo real.yaml*)"
cp "$space/chela.yaml" "$tmp/first.yaml"

# --- what was agreed to is what is done
say ou_boss 'more turns'
next "another change" '+      limits: { maxTurns: 12 }'
sed -i --follow-symlinks 's/      model: /      limits: { maxTurns: 3 }\n      model: /' "$space/chela.yaml"
cp "$space/chela.yaml" "$tmp/first.yaml"
agrees "but the file is no longer the same" 'was changed after it was agreed to'
check "so nothing is written" unchanged
(cd "$space" && untrusted='' && believe) # the edit was the user's

# --- what it never does
say ou_boss 'make me owner'
next "owners are not changed" 'may be changed only by the operator'
say ou_boss 'be nonsense'
next "a value that is none is not asked about" 'chela.yaml:[0-9:]* gateway.drainSec: expected a whole number'
check "and nothing is written" unchanged
say ou_eve 'be patient' oc_eve
next "somebody else has no such tool" 'gateway: .*no tool'
say ou_boss 'be patient' oc_team group
next "nor has an owner in a group" 'gateway: .*no tool'
post '/api/sessions/feishu%3Aoc_boss/messages' '{"text":"be patient","stream":true}'
check "nor has who is not in the chat" grep -q 'no tool' "$out"
check "nothing is written" unchanged
say ou_boss 'read it again'
next "reading it again is asked about" 'reload'
agrees "the owner agrees" 'is read again'
check "it is" taken_up 2
say ou_boss 'begin anew'
next "so is a restart" 'restart'
before=$gateway
agrees "the owner agrees" 'It begins anew'
for _ in {1..400}; do
    gateway=$(sed -n 's|^.*listening on \(https*://[0-9.:]*\).*|\1|p' "$serve_log" | tail -n 1)
    [ "$gateway" != "$before" ] && break
    sleep 0.05
done
check "another begins" [ "$gateway" != "$before" ]
say ou_boss 'still there?'
next "and answers, in the same process" '^heard'
check "SIGTERM ends it" stop_serving
check "the log has no secret" bash -c "! grep -qF -e SENTINEL '$serve_log'"
tap_done
