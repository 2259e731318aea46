#!/usr/bin/env bash
# What people get wrong at the command line: exit 2, one line that names it, and
# with jsonl a run_end all the same. And where the prompt comes from.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
start_server

# refused LABEL PATTERN ARG...: exit 2, one line that matches.
refused() {
    local label=$1 pattern=$2
    shift 2
    chela "$@"
    exits "$label" 2
    if [ "$(wc -l <"$err")" = 1 ] && grep -qE -- "$pattern" "$err"; then
        ok "$label: one line that names it"
    else
        not_ok "$label: one line that names it" "$(show)"
    fi
    chela "$1" --output jsonl "${@:2}"
    exits "$label, jsonl" 2
    events_are_well_formed "$label, jsonl"
}

# points WORDS ...: exit 2, and the line names what does the same here.
points() {
    local pattern=$1
    shift
    chela "$@"
    same "chela $*: exit code" 2 $status
    check "chela $*: points at $pattern" grep -qF -- "$pattern" "$err"
}
points "--listen 127.0.0.1:PORT" serve --port 80
points "anthropic/claude-sonnet" run --model sonnet go
points "the words alone" run -p go
points "the words alone" run --print go
points "use --continue" run --resume
points "use --approve auto)" run --yolo go
points "use --approve auto)" chat --dangerously-skip-permissions
points "--approve auto --sandbox off" run --dangerously-bypass-approvals-and-sandbox go
points "use --output json" run --json go
points "use --output)" run --output-format json go
points "use --verbose" run --debug go
points "use --tools)" run --allowedTools read go
points "use --deny" run --disallowedTools exec go
points "use --model)" run -m x go
points "use --continue" chat -c
points "use --resume" chat -r
points "use --workspace" run -C / go
points "use --cost-budget" run --max-budget-usd 1 go
points "keys are not for command lines" run --api-key x go
points "'chela run PROMPT'" exec go
points "'chela run PROMPT'" -p go
points "'chela chat --continue'" --continue
points "'chela chat --resume'" resume
points "'chela serve'" gateway
points "'chela --version'" version
points "'chela config show'" config get model

fresh hello anthropic
good=(run --model anthropic/claude-test --base-url "$base")
refused "unknown flag" "--modle.*--model" "${good[@]}" --modle x go
refused "flag without value" "--system" run go --system
refused "number out of range" "--max-turns" "${good[@]}" --max-turns -1 go
refused "unknown choice" "--reasoning" "${good[@]}" --reasoning lots go
refused "missing file" "nowhere.txt" "${good[@]}" --system @nowhere.txt go
refused "missing configuration" "nowhere.yaml" "${good[@]}" --config nowhere.yaml go
refused "missing workspace" "nowhere" "${good[@]}" --workspace nowhere go
refused "workspace that is a file" "space/f" "${good[@]}" --workspace "$space/f" go < <(touch "$space/f")
refused "unknown provider" "nobody" run --model nobody/nothing go
refused "model without provider" "claude" run --model claude go
refused "unknown tool" "reed" "${good[@]}" --tools reed go
refused "no prompt" "prompt" "${good[@]}"
refused "unknown agent" "ghost" "${good[@]}" --agent ghost go
refused "missing certificate file" "nowhere.pem" "${good[@]}" --ca-file nowhere.pem go
refused "empty name of a file" "--config needs a value: FILE" "${good[@]}" --config "" go
refused "empty name of a file, attached" "--schema needs a value: FILE" "${good[@]}" --schema= go
refused "bad URL" "URL|url" run --model anthropic/claude-test --base-url 'ht!tp:/x' go

chela frobnicate
exits "unknown command" 2
chela "what is 2 + 2?"
exits "a prompt without a command" 2
check "a prompt without a command: names run" grep -qF "chela run PROMPT" "$err"
chela
exits "no command" 2
chela --help
exits "--help" 0
chela run --help
exits "run --help" 0
check "run --help: on stdout" grep -q -- --max-turns "$out"
chela --version
exits "--version" 0

chela run --help=x
exits "run --help with a value" 0
check "run --help with a value: on stdout" grep -q -- --max-turns "$out"

# A configuration file: where and what is wrong in it.
printf 'agents:\n  defaults:\n    model: [unclosed\n' >"$space/broken.yaml"
refused "broken YAML" "broken.yaml:[0-9]+:[0-9]+" run --config broken.yaml go
printf 'agents: { defaults: { model: scripted/demo, workspaceDir: nowhere } }\n' >"$space/place.yaml"
refused "missing workspaceDir" "place.yaml:1:[0-9]+: agents.defaults.workspaceDir: .*/nowhere: No such" \
    run --config place.yaml go
chela config check place.yaml
check "missing workspaceDir, config check" grep -qE "place.yaml:1:[0-9]+: .*/nowhere: No such" "$err"
printf 'agents: { defaults: { model: scripted/demo, workspaceDir: place.yaml } }\n' >"$space/file.yaml"
refused "workspaceDir is a file" "file.yaml:1:[0-9]+: .*workspaceDir: .*: Not a directory" \
    run --config file.yaml go
printf 'agents:\n  defaults:\n    model: [scripted/demo, antropic/x]\n' >"$space/provider.yaml"
refused "unknown provider in the file" \
    "provider.yaml:3:28: agents.defaults.model: unknown provider 'antropic', did you mean anthropic\\?" \
    run --config provider.yaml go
chela config check provider.yaml
check "unknown provider, config check" grep -qE "provider.yaml:3:28: .*unknown provider 'antropic'" "$err"
chela run --config provider.yaml --model scripted/demo go
exits "a provider that is not needed" 0
chela skills list --config provider.yaml
exits "a command without a model" 0
printf 'agents: { defaults: { model: prompted+mine/x } }\nproviders: { mine: { api: openai } }\n' >"$space/mine.yaml"
refused "a provider of the file" "mine.yaml:1:30: agents.defaults.model: provider mine needs a base URL" \
    run --config mine.yaml go
refused_model() { # YAML PLACE
    printf 'agents: { defaults: { %s } }\n' "$1" >"$space/model.yaml"
    refused "$1" "model.yaml:1:[0-9]+: agents.defaults.$2" run --config model.yaml go
}
refused_model 'model: azure/x' 'model: provider azure needs a base URL'
refused_model 'model: scripted/demo, embedding: antropic/x' "embedding: .*unknown provider 'antropic'"
refused_model 'model: scripted/demo, compaction: { model: antropic/x }' "compaction.model: unknown provider 'antropic'"
refused_model 'model: scripted/demo, compaction: { model: sonnet }' 'compaction.model: expected PROVIDER/MODEL'
for role in router planner executor reflector; do
    refused_model "model: scripted/demo, roles: { $role: antropic/x }" "roles.$role: unknown provider 'antropic'"
done
refused_model 'model: scripted/demo, mode: heartbeat, heartbeat: { opinion: antropic/x }' "heartbeat.opinion: unknown provider 'antropic'"
cat >"$space/all.yaml" <<'YAML'
agents:
  list:
    - { id: one, model: scripted/demo, agents: [two], roles: { planner: groq/x } }
    - { id: two, model: groq/x }
    - { id: three, model: groq/x, workspaceDir: nowhere }
    - { id: four, model: [groq/x, antropic/x] }
    - { id: five, model: scripted/demo, roles: { reflector: antropic/x } }
YAML
chela config check all.yaml
exits "config check: every agent" 2
same "config check: the errors of all, in order" "5 6 7" "$(sed -nE 's/^chela: all.yaml:([0-9]+):[0-9]+: agents.list\[[0-9]\]\..*/\1/p' "$err" | xargs)"
same "config check: a missing key is a warning, once" 1 "$(grep -c '^warning: no API key for groq' "$err")"
chela config check --json all.yaml
tells "config check --json: every agent" '"\(.ok) \(.problems | map(.level))"' 'false ["warning","error","error","error"]'
for id in one two; do
    chela config check --agent $id all.yaml
    exits "config check --agent $id: the others are not checked" 0
done

# What only the gateway needs: file, line and key.
refused_gateway() { # YAML MESSAGE [ARGUMENT...]
    local yaml=$1 message=$2
    shift 2
    printf '%s\nagents: { defaults: { model: scripted/demo } }\n' "$yaml" >"$space/gate.yaml"
    (cd "$space" && with_env CHELA_TOKEN=0123456789abcdef0123456789abcdef TELEGRAM=x \
        timeout -k 5 $seconds "$program" "${@:-serve}" --config gate.yaml) >"$out" 2>"$err" </dev/null
    status=$?
    exits "$yaml" 2
    check "$yaml: file, line and key" grep -qE "^chela: gate.yaml:1:[0-9]+: $message" "$err"
}
refused_gateway 'gateway: { tokenFile: nowhere }' 'gateway.tokenFile: .*/nowhere: No such file'
refused_gateway 'gateway: { tls: { cert: no.pem, key: no.key } }' \
    'gateway.tls.cert: no certificate could be read from .*/no.pem'
refused_gateway 'gateway: { listen: "192.0.2.1:1" }' 'gateway.listen: cannot listen at 192.0.2.1:1: '
refused_gateway 'gateway: { listen: "192.0.2.1:1" }' 'gateway.listen: cannot listen at 192.0.2.1:1: ' \
    serve --workers 2
refused_gateway 'gateway: { hooks: { h: { agent: ghost, secretEnv: CHELA_TOKEN } } }' \
    "gateway.hooks.h.agent: there is no agent 'ghost'"
refused_gateway 'gateway: { tokenEnv: NOT_SET }' 'gateway.tokenEnv: the gateway needs a token .* set NOT_SET'
refused_gateway 'gateway: { hooks: { h: { secretEnv: NOT_SET } } }' 'gateway.hooks.h.secretEnv: hook h: NOT_SET, .* is not set'
refused_gateway 'gateway: { mcp: { enabled: true, issuer: "https://a.example", resource: "https://b.example/mcp", introspection: "https://a.example/i", clientId: c, clientSecretEnv: NOT_SET } }' \
    'gateway.mcp.clientSecretEnv: gateway.mcp: NOT_SET is not set'
refused_gateway 'channels: { telegram: { tokenEnv: NOT_SET, dmPolicy: open } }' \
    'channels.telegram.tokenEnv: channel telegram: NOT_SET is not set'
refused_gateway 'channels: { feishu: { appId: cli_x, appSecretEnv: TELEGRAM, dmPolicy: open } }' \
    'channels.feishu: channel feishu: FEISHU_VERIFICATION_TOKEN is not set'
refused_gateway 'gateway: { mcp: { enabled: true, agent: ghost } }' \
    "gateway.mcp.agent: there is no agent 'ghost'"
refused_gateway 'channels: { telegram: { tokenFile: nowhere, dmPolicy: open } }' \
    'channels.telegram.tokenFile: .*/nowhere: No such file'
refused_gateway 'channels: { telegram: { tokenEnv: TELEGRAM, dmPolicy: open, agent: ghost } }' \
    "channels.telegram.agent: there is no agent 'ghost'"
ghost='schedules: { s: { when: every 1h, prompt: go, agent: ghost } }'
refused_gateway "$ghost" "schedules.s.agent: there is no agent 'ghost'"
refused_gateway "$ghost" "schedules.s.agent: there is no agent 'ghost'" schedule run s
printf 'schedules: { s: { when: every 1h, prompt: go, agent: main } }\n' >"$space/main.yaml"
chela schedule list --config main.yaml
exits "the agent of a file without a list" 0

printf 'store: sqlite:no/such/place.db\nagents: { defaults: { model: scripted/demo } }\n' >"$space/store.yaml"
refused "store that cannot be created" "store.yaml:1:8: store: .*no/such/place.db cannot be created: No such" \
    run --config store.yaml go
chela serve --config store.yaml --listen 127.0.0.1:0 --model scripted/demo
check "store that cannot be created, serve" grep -qE "store.yaml:1:8: store: .*cannot be created" "$err"
printf 'agents:\n  defaults:\n    limits: { maxTurns: many }\n' >"$space/type.yaml"
refused "wrong type" "type.yaml:3:[0-9]+.*maxTurns" run --config type.yaml go
printf 'agents:\n  defaults:\n    modle: x\n' >"$space/typo.yaml"
refused "unknown key" "typo.yaml:3:[0-9]+.*modle.*model" run --config typo.yaml go
printf 'agents:\n  defaults:\n    modle: x\napprovals: { exce: ask }\nsandbox: { mode: of }\n' >"$space/typos.yaml"
chela "${good[@]}" --config typos.yaml go
exits "several errors" 2
same "several errors: all of them, and a sum" "3 5 4 3" \
    "$(sed -nE 's/^chela: typos.yaml:([0-9]+):.*/\1/p' "$err" | xargs)"
printf 'memory: { enable: true }\n' >"$space/memory.yaml"
chela config check memory.yaml
exits "unknown key elsewhere" 0
check "unknown key elsewhere: a warning with the nearest" grep -qE "warning: memory.yaml:1:[0-9]+.*enable.*enabled" "$err"
chela config check --strict memory.yaml
exits "config check --strict" 2
chela config check --json memory.yaml
exits "config check --json" 0
tells "config check --json: a warning" '"\(.file) \(.ok) \(.problems | map(.level))"' 'memory.yaml true ["warning"]'
chela config check --json typos.yaml
exits "config check --json: errors" 2
tells "config check --json: each error once" '"\(.ok) \(.problems | map(.message[11:12] + .level))"' 'false ["3error","5error","4error"]'
chela config check --json nowhere.yaml
exits "config check --json: no file" 2
tells "config check --json: why" '"\(.ok) \(.problems | length) \(.problems[0].message | test("nowhere.yaml"))"' 'false 1 true'
printf 'channels: { slack: {} }\n' >"$space/channel.yaml"
chela config check channel.yaml
exits "a channel without its token" 0
check "a channel without its token: a warning" grep -qE 'warning: channel.yaml:1:13: channels.slack: .* needs botTokenEnv or botTokenFile' "$err"

# No permission to read it. Root may read everything, so do it as nobody.
printf 'agents: {}\n' >"$space/secret.yaml"
chmod 000 "$space/secret.yaml"
if [ "$(id -u)" = 0 ]; then
    chmod 755 "$tmp" "$space"
    cp "$BUILD"/chela "$BUILD"/libchela.so.0 "$tmp/"
    (cd "$space" && with_env setpriv --reuid=65534 --regid=65534 --clear-groups \
        "$tmp/chela" run --config secret.yaml go >"$out" 2>"$err" </dev/null)
    status=$?
else
    chela run --config secret.yaml go
fi
exits "unreadable configuration" 2
check "unreadable configuration: one line that names it" grep -qE 'secret.yaml.*[Pp]ermission' "$err"
rm -f "$space/secret.yaml"

# No key, and a key under another name.
no_key() {
    (cd "$space" && env -i PATH="$PATH" HOME="$tmp" "$program" "$@" >"$out" 2>"$err" </dev/null)
    status=$?
}
no_key run --model anthropic/claude-test go
exits "no key" 2
check "no key: one line says which variable" test "$(grep -c . "$err") $(grep -c ANTHROPIC_API_KEY "$err")" = "1 1"
fresh hello anthropic
(cd "$space" && env -i PATH="$PATH" HOME="$tmp" MY_KEY=$key "$program" run --model anthropic/claude-test --base-url "$base" \
    --api-key-env MY_KEY go >"$out" 2>"$err" </dev/null)
status=$?
exits "key under another name" 0

# Nobody listens there: a failure of the run, not of usage.
chela run -q --model anthropic/claude-test --base-url http://127.0.0.1:1 --output jsonl go
exits "refused connection" 1
events_are_well_formed "refused connection"
same "refused connection: the sentence and the cause" "2" "$(wc -l <"$err")"

# Without a model and a key: the scripted one, and it says so. Unless a model
# server of the user's own is there, which would be asked first.
if (exec 3<>/dev/tcp/127.0.0.1/11434 || exec 3<>/dev/tcp/127.0.0.1/8080) 2>/dev/null; then
    skip "no model" "a local server listens on the port of Ollama or llama.cpp"
else
    no_key run "what is 17 * 23"
    exits "no model" 0
    check "no model: says what answers" grep -q "scripted/demo" "$err"
    check "no model: calculates" grep -q 391 "$out"
    (cd "$space" && env -i PATH="$PATH" HOME="$tmp" CHELA_TOKEN=0123456789abcdef timeout 20 "$program" serve --listen 127.0.0.1:0 \
        >"$out" 2>"$err" </dev/null)
    status=$?
    exits "serve without a model" 2
    check "serve without a model: how to have the demo" grep -q -- "--model scripted/demo serves the offline demo" "$err"
fi

# Where the prompt comes from.
prompt() { requests '.body.messages[0].content | if type == "string" then . else map(.text) | join("") end' | jq -r .; }
printf 'from a pipe\n' >"$tmp/stdin"
stdin=$tmp/stdin play anthropic hello
same "piped input follows the prompt" "$(printf 'go on\n\nfrom a pipe')" "$(prompt)"
fresh hello anthropic
stdin=$tmp/stdin chela run --model anthropic/claude-test --base-url "$base"
same "piped input alone is the prompt" "from a pipe" "$(prompt)"
fresh hello anthropic
stdin=$tmp/stdin chela run --model anthropic/claude-test --base-url "$base" -
same "'-' is standard input" "from a pipe" "$(prompt)"
fresh hello anthropic
chela run --model anthropic/claude-test --base-url "$base" -- --not-a-flag 你好
same "words after -- are the prompt" "--not-a-flag 你好" "$(prompt)"
head -c 200000 /dev/zero | tr '\0' 'x' >"$tmp/stdin"
stdin=$tmp/stdin play anthropic hello
same "a long prompt goes whole" "200007" "$(prompt | tr -d '\n' | wc -c | awk '{print $1 + 2}')"
printf 'bad \377\376 bytes' >"$tmp/stdin"
stdin=$tmp/stdin play anthropic hello --output jsonl
if [[ $status =~ ^[02]$ ]]; then ok "bytes that are no UTF-8: taken or refused"; else not_ok "bytes that are no UTF-8: taken or refused" "$(show)"; fi
same "bytes that are no UTF-8: never sent as such" "" "$(requests '.problems[]')"
events_are_well_formed "bytes that are no UTF-8"

# A reader that goes away.
fresh long anthropic
(cd "$space" && with_env "$program" run --model anthropic/claude-test --base-url "$base" go 2>"$err" </dev/null | head -c 10 >"$out")
same "a reader that goes away: no crash" "0" "$(grep -ciE 'sanitizer|abort|assert' "$err")"
# Output that cannot be written: a failure, not a cancellation.
for output in text json jsonl; do
    for to in /dev/full closed; do
        fresh long anthropic
        write=(run -q --model anthropic/claude-test --base-url "$base" --output "$output" go)
        if [ $to = closed ]; then
            (cd "$space" && with_env "$program" "${write[@]}" >&- 2>"$err" </dev/null)
        else
            (cd "$space" && with_env "$program" "${write[@]}" >$to 2>"$err" </dev/null)
        fi
        status=$?
        : >"$out"
        exits "$output to $to" 1
        check "$output to $to: said" grep -q 'cannot write to standard output' "$err"
    done
done
# A place for sessions that is none.
(cd "$space" && env -i PATH="$PATH" HOME=here "$program" sessions list >"$out" 2>"$err" </dev/null)
same "a HOME that is no absolute path: exit code" 2 $?
check "a HOME that is no absolute path: as without HOME" grep -q 'HOME is not set' "$err"
check "a HOME that is no absolute path: nothing is created" [ ! -e "$space/here" ]
(cd "$space" && env -i PATH="$PATH" HOME="$tmp" XDG_STATE_HOME=/proc/nowhere "$program" sessions list >"$out" 2>"$err" </dev/null)
same "a bad XDG_STATE_HOME: exit code" 2 $?
check "a bad XDG_STATE_HOME: named" grep -q 'cannot be created: .*XDG_STATE_HOME' "$err"
for command in "mcp serve" chat; do
    # shellcheck disable=SC2086
    chela $command --model scripted/demo --ca-file nowhere.pem
    exits "$command: missing certificate file" 2
    check "$command: missing certificate file: named" grep -q '^chela: --ca-file nowhere.pem: ' "$err"
done
tap_done
