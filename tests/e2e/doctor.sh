#!/usr/bin/env bash
# `chela doctor`: what it finds, what it advises, and that it shows no key.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/servers.sh

chela doctor
exits "doctor" 0
check "doctor: a line for each layer" grep -qE '^(ok|warn)  +sandbox +landlock' "$out"
check "doctor: the module for https" grep -qE '^ok  +module +tls' "$out"
check "doctor: a key is there" grep -qE '^ok  +key +anthropic +ANTHROPIC_API_KEY is set$' "$out"
check "doctor: the model" grep -qE '^ok  +model +choice +anthropic/' "$out"
check "doctor: a sum" grep -qE '^[0-9]+ checks: [0-9]+ warnings, 0 failures$' "$out"

chela doctor --json
exits "doctor --json" 0
holds "doctor --json: an array of findings" \
    '.[0] | length > 15 and all(has("area") and has("name") and has("detail") and (.status | IN("ok", "warn", "fail")))'
holds "doctor --json: advice goes with trouble" '.[0] | all(.status != "ok" or (has("mend") | not))'
holds "doctor --json: ten layers" '[.[0][] | select(.area == "sandbox")] | length == 10'

chela doctor --sandbox off
check "doctor: the sandbox is off" grep -qE '^warn  sandbox  mode +off' "$out"
echo 'sandbox: { mode: off }' >"$space/chela.yaml"
chela doctor
check "doctor: off by the file" grep -qE '^warn  sandbox  mode +off' "$out"
chela doctor --sandbox auto
check "doctor: the flag comes first" grep -qE 'sandbox +landlock' "$out"
echo 'sandbox: { mode: sometimes }' >"$space/chela.yaml"
chela doctor
exits "doctor: a bad file" 1
check "doctor: a bad file: where" grep -qE '^fail  config +file +chela.yaml:1:18: sandbox.mode' "$out"
echo 'agents: { defaults: { model: nowhere/model } }' >"$space/chela.yaml"
chela doctor
exits "doctor: a model of nobody" 1
echo 'agents: { defaults: { model: mistral/mistral-large } }' >"$space/chela.yaml"
chela doctor
exits "doctor: a model without its key" 1
check "doctor: a model without its key: which" grep -qE '^fail  model +key .*MISTRAL_API_KEY' "$out"

# What lies inside a workspace, and how to part it.
in_workspace() {
    check "doctor: $1" grep -qE "^warn  workspace $2 +$3 is inside the workspace $space" "$out"
}
printf '#!/bin/sh\n' >"$space/tool"
echo sk-inside >"$space/my.key"
cat >"$space/chela.yaml" <<'YAML'
agents: { list: [{ id: a, model: scripted/demo }, { id: b, model: scripted/demo, workspaceDir: ./work }] }
store: sqlite:./chela.db
providers: { p: { api: openai, baseUrl: "http://127.0.0.1:1", apiKeyFile: ./my.key } }
tools: { custom: [{ name: t, description: d, command: [./tool, x] }] }
YAML
mkdir "$space/work"
chela doctor
exits "doctor: a workspace with everything inside" 0
in_workspace "the configuration in a workspace" config "$space/chela.yaml"
in_workspace "the store in a workspace" store "$space/chela.db"
in_workspace "a key in a workspace" key "$space/my.key"
in_workspace "a program in a workspace" program "$space/tool"
check "doctor: how to part them" grep -qE -- '-> set workspaceDir to another directory' "$out"
check "doctor: a workspace of its own" grep -qE "^ok    workspace b +$space/work holds neither" "$out"
chela doctor --workspace work --agent a
check "doctor: a workspace by flag" grep -qE "^ok    workspace a +$space/work holds neither" "$out"
rm "$space/chela.yaml" "$space/tool" "$space/my.key"
(cd "$tmp" && with_env "$program" doctor >"$out" 2>"$err")
check "doctor: the home directory as the workspace" grep -qE "^warn  workspace trust +$tmp/.local/state/chela/trust is inside" "$out"

# The clock, the disks, what channels need.
. tests/support/lark.sh
start_lark
mkdir "$tmp/lark/scopes"
jq -n '[$ARGS.positional[] | {scope_name: ., grant_status: 1}]' --args im:message:send_as_bot im:message.p2p_msg:readonly \
    im:message.group_at_msg:readonly im:resource im:message.reactions:write_only contact:user.base:readonly >"$tmp/lark/scopes/all"
eval "$(declare -f plain_with_env | sed 's/^plain_//')"
cat >"$space/chela.yaml" <<YAML
channels:
  feishu: { appId: $app, domain: $lark, encryptKeyEnv: LARK_KEY }
YAML
chela doctor
exits "doctor: a channel without its secrets" 1
check "doctor: which" grep -qE '^fail  channel +feishu +FEISHU_APP_SECRET, FEISHU_VERIFICATION_TOKEN, LARK_KEY: not set$' "$out"
check "doctor: the clock" grep -qE '^(ok  |warn)  machine  clock +20[0-9-]+ ' "$out"
for name in workspace state temporary; do
    check "doctor: room for $name" grep -qE "^(ok  |warn)  disk     $name +[0-9.]+ [MG]B left in " "$out"
done
eval "bare_$(declare -f with_env)"
with_env() {
    bare_with_env FEISHU_APP_SECRET="${lark_secret-$app_secret}" FEISHU_VERIFICATION_TOKEN=lark-SENTINEL LARK_KEY=lark-SENTINEL "$@"
}
chela doctor
exits "doctor: a channel with its secrets" 0
check "doctor: a channel with its secrets" grep -qE '^ok    channel +feishu +app cli_test, its secrets are there$' "$out"
check "doctor: the service knows it" grep -qE '^ok    channel +feishu +the service knows the app: ' "$out"
check "doctor: and lets it do what it needs" grep -qE '^ok    channel +feishu +the app has the permissions' "$out"
if grep -q SENTINEL "$out" "$err"; then not_ok "doctor: they are not shown"; else ok "doctor: they are not shown"; fi
sed -i 's/, encryptKeyEnv/, streaming: true, encryptKeyEnv/' "$space/chela.yaml"
jq 'map(if .scope_name | test("p2p_msg") then .grant_status = 2 else . end)' "$tmp/lark/scopes/all" >"$tmp/scopes"
mv "$tmp/scopes" "$tmp/lark/scopes/all"
chela doctor
exits "doctor: an app without a permission" 1
check "doctor: which, and what for" grep -qE '^fail  channel +feishu +the app lacks im:message.p2p_msg:readonly: direct messages are not received$' "$out"
check "doctor: one that is asked for only by an option" grep -qE '^warn  channel +feishu +the app lacks cardkit:card:write: ' "$out"
lark_secret='lark-SENTINEL'
chela doctor
exits "doctor: a wrong secret" 1
check "doctor: which it is" grep -qE '^fail  channel +feishu +the App ID or the App Secret is wrong: code 10014: ' "$out"
kill "$server_pid" && wait "$server_pid" 2>/dev/null
chela doctor
exits "doctor: a service that is not there" 0
check "doctor: is a warning" grep -qE '^warn  channel +feishu +http://127.0.0.1:[0-9]* cannot be asked: ' "$out"
eval "$(declare -f bare_with_env | sed 's/^bare_//')"
rm "$space/chela.yaml"
chela doctor now
exits "doctor: words" 2

# Where sessions are kept.
chela doctor --store "sqlite:$tmp/none.db"
check "doctor: a store that is not there yet" grep -qE '^ok    store    sqlite +none yet: ' "$out"
chela doctor
check "doctor: the user's store that is not there yet" grep -qE '^ok    store    sqlite +none yet: .*/state/chela/chela.db$' "$out"
chela doctor --store "sqlite:$tmp/none/none.db"
check "doctor: a store that cannot be made" grep -qE '^fail  store    sqlite +.*/none/none.db cannot be created: No such' "$out"
check "doctor: nothing is made" test ! -e "$tmp/none.db"
chela run --model scripted/demo --store "sqlite:$tmp/whole.db" --session s hello
chela doctor --store "sqlite:$tmp/whole.db"
check "doctor: a whole store" grep -qE '^ok    store    integrity +no damage in 1 session$' "$out"
sqlite3 "$tmp/whole.db" "UPDATE records SET data = replace(data, 'hello', 'hullo')" >/dev/null
chela doctor --store "sqlite:$tmp/whole.db"
check "doctor: a changed record" grep -qE "^fail  store    integrity +session 's' is damaged: record [0-9]+ was changed" "$out"
sqlite3 "$tmp/whole.db" "PRAGMA wal_checkpoint(TRUNCATE); DELETE FROM records WHERE false" >/dev/null
pages=$(($(wc -c <"$tmp/whole.db") / 4096))
dd if=/dev/urandom of="$tmp/whole.db" bs=4096 seek=$((pages - 6)) count=5 conv=notrunc 2>"$err"
chela doctor --store "sqlite:$tmp/whole.db"
check "doctor: damaged pages" grep -qE "^fail  store    integrity +store .*whole.db is damaged: " "$out"
chela doctor --store redis://127.0.0.1:1
exits "doctor: no server" 1
check "doctor: no server: which" grep -qE '^fail  store    redis +store redis://127.0.0.1:1/0: Connection refused$' "$out"
# shellcheck disable=SC2119
if start_redis; then
    chela doctor --store "$redis"
    check "doctor: Redis that writes" grep -qE '^ok    store    redis +it opens$' "$out"
    check "doctor: its module" grep -qE '^ok    module   store-redis ' "$out"
    redis_tell CONFIG SET appendonly no >/dev/null
    chela doctor --store "$redis"
    exits "doctor: Redis that only remembers" 0
    check "doctor: Redis that only remembers" grep -qE '^warn  store    redis .*appendonly is no' "$out"
    chela run --model scripted/demo --store "$redis" --session s hello
    check "a run says it, too" grep -q 'warning: store redis://.*appendonly is no, .*once tool may start again (P2)' "$err"
    kill_server "$redis_pid"
else
    skip "doctor: Redis" "it is not installed"
fi
if start_postgres; then
    chela doctor --store "$postgres"
    check "doctor: PostgreSQL, before it holds a store" grep -qE '^ok    store    postgres +none yet: ' "$out"
    check "doctor: its module" grep -qE '^ok    module   store-postgres ' "$out"
    chela run --model scripted/demo --store "$postgres" --session s hello
    check "a run says what the server does not keep" grep -q 'warning: .*fsync = off' "$err"
    chela doctor --store "$postgres"
    check "doctor: PostgreSQL that does not sync" grep -qE '^warn  store    postgres .*fsync = off' "$out"
else
    skip "doctor: PostgreSQL" "it is not installed"
fi

# Without the helper there is no sandbox, and it is said.
mkdir "$tmp/alone" && cp "$BUILD/chela" "$BUILD"/libchela.so* "$BUILD/libchela-tls.so" "$tmp/alone/"
program=$tmp/alone/chela
chela doctor --json
exits "doctor: without chela-sandbox" 0
holds "doctor: without chela-sandbox: a warning, and what helps" \
    '[.[0][] | select(.name == "helper")] | .[0] | .status == "warn" and (.mend | test("chela-sandbox"))'
chela doctor --sandbox required
exits "doctor: required, without chela-sandbox" 1
chela tools call exec --args '{"command": "touch ran"}' --sandbox required
check "exec: required, without chela-sandbox: not run" test ! -e "$space/ran"
chela tools call exec --args '{"command": "touch ran"}'
check "exec: auto, without chela-sandbox: not run either" test ! -e "$space/ran"
check "exec: auto, without chela-sandbox: the remedy is said" sh -c "cat '$out' '$err' | grep -q 'Install chela-sandbox'"
chela tools call exec --args '{"command": "touch ran"}' --sandbox off
check "exec: off, without chela-sandbox: run" test -e "$space/ran"
# A rule and a tool that promises what the rule forbids.
cat >"$space/chela.yaml" <<'YAML'
agents:
  defaults:
    model: scripted/demo
    systemPrompt: You work for the archive. 不要删除数据。
    context: { rules: ["Never delete anything.", "Never send mail without asking.", "Delete only what was named."] }
    tools: { allow: [read, drop_rows, send_letter] }
sandbox: { mode: off }
tools:
  custom:
    - { name: drop_rows, description: Deletes rows that match., command: [cat], permission: read }
    - { name: send_letter, description: Sends a letter., command: [cat], permission: read }
YAML
chela config check
exits "rules against tools" 0
same "rules against tools: each pair" 2 "$(grep -c 'conflicts with the tool drop_rows' "$err")"
same "rules against tools: no others" 2 "$(grep -c 'conflicts with' "$err")"
chela doctor --json
check "doctor: rules against tools" jq -e '[.[] | select(.area == "rule" and .status == "warn")] | length == 2 and all(.name == "drop_rows")' "$out"
sed -i 's/allow: \[read, drop_rows/allow: [read/' "$space/chela.yaml"
chela config check
same "rules against tools: one that is not there" 0 "$(grep -c 'conflicts with' "$err")"
rm "$space/chela.yaml"
tap_done
