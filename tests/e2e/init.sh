#!/usr/bin/env bash
# The first configuration file: found, written, tried, and never written over.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh

ANTHROPIC_API_KEY=sk-ant-sentinel chela init --yes --no-test
exits "with a key in the environment" 0
check "it says what it found" grep -q 'model: anthropic/.*ANTHROPIC_API_KEY' "$err"
check "and writes it" grep -q '^    model: anthropic/' "$space/chela.yaml"
check "but not the key" test "$(cat "$out" "$err" "$space/chela.yaml" | grep -c sentinel)" = 0
rm -f "$space/chela.yaml"

chela init --no-test
exits "with nobody to ask" 0
check "the model that was found" grep -q '^    model: ' "$space/chela.yaml"
rm -f "$space/chela.yaml"

chela init --yes --model scripted/demo
exits "init" 0
check "and what comes next" grep -q 'chela run' "$out"
before=$(cat "$space/chela.yaml")
chela config check
exits "what it wrote is right" 0
same "without a warning" "" "$(grep -v ': ok$' "$out")"
chela run "what is 17 * 23"
exits "and works" 0

chela init --yes
exits "a second time" 2
check "it names the file" grep -q 'chela.yaml already exists' "$err"
same "the file is as it was" "$before" "$(cat "$space/chela.yaml")"

chela init --yes --force --model scripted/demo --no-test
exits "with force" 0
check "without a call" test "$(grep -c answers "$err")" = 0

here=$(realpath "$program")
# a disk without room: no file is larger than 1 KB
full() { (trap '' XFSZ && ulimit -f 1 && cd "$space" && with_env "$here" init --yes --no-test --model scripted/demo "$@" >"$out" 2>"$err"); }
full --force
same "a file that cannot be written" 1 $?
check "is named" grep -q 'chela.yaml cannot be written: ' "$err"
same "keeps its text" "$before" "$(cat "$space/chela.yaml")"
full --config new.yaml
same "a new file that cannot be written" 1 $?
same "nothing stays" "" "$(cd "$space" && ls new.yaml* chela.yaml.* 2>/dev/null)"

if unshare -Umr true 2>/dev/null; then # a disk without room for any file
    mkdir -p "$tmp/full"
    # shellcheck disable=SC2016
    unshare -Umr sh -c 'mount -t tmpfs -o size=4k,nr_inodes=2 full "$1" && cd "$1" && : >a && shift && "$@"' sh \
        "$tmp/full" env XDG_STATE_HOME="$tmp/full-state" HOME="$tmp" "$here" init --yes --no-test --model scripted/demo >"$out" 2>"$err"
    same "a disk without room for a file" 1 $?
    check "no room: is named" grep -q 'chela.yaml.*No space left' "$err"
    mkdir "$tmp/dir"
    echo 'agents: { defaults: { systemPrompt: hi } }' >"$tmp/dir/chela.yaml"
    # shellcheck disable=SC2016
    for command in "run --model scripted/demo --background hello" "trust ." "prompt test router --model scripted/demo --n 1"; do
        # shellcheck disable=SC2086
        unshare -Umr sh -c 'mount -t tmpfs -o size=4k,nr_inodes=2 full "$1" && : >"$1/a" && cd "$2" && shift 2 && "$@"' sh \
            "$tmp/full" "$tmp/dir" env XDG_STATE_HOME="$tmp/full" HOME="$tmp/full" "$here" $command >"$out" 2>"$err" </dev/null
        same "no room for ${command%% *}" 1 $?
        check "no room for ${command%% *}: said" grep -q 'No space left' "$err"
    done
else
    skip "a disk without room for a file" "no user namespace to mount a small file system in"
fi

chela init --yes --force --model nobody/model
exits "an unknown provider" 2
same "writes nothing" "$before" "$(cat "$space/chela.yaml")"

chela init --yes --config "$space/none/chela.yaml"
exits "a directory that is not there" 2
rm -f "$space/chela.yaml"

# --- chat services: nothing secret in the file, which is right as it is
for name in slack discord dingtalk wecom telegram feishu; do
    chela init --yes --model scripted/demo --no-test --channel $name
    exits "$name" 0
    check "$name: the steps in its console" grep -qE '^( *|chela: *)1\. ' "$err"
    check "$name: the variable of its secret" grep -qE '^    [a-zA-Z]+Env: [A-Z_]+ #' "$space/chela.yaml"
    if grep -q CHANGE-ME "$space/chela.yaml"; then
        chela config check
        exits "$name: a value that is left open" 2
        check "$name: is named" grep -qE "chela.yaml:[0-9]+:[0-9]+: channels.$name.[a-zA-Z]+: not filled in: replace CHANGE-ME" "$err"
        chela doctor
        check "$name: by doctor, too" grep -qE "^fail +channel +$name +channels.$name.[a-zA-Z]+ is not filled in" "$out"
        (cd "$space" && with_env CHELA_TOKEN=a-token-of-the-gateway "$here" serve --listen 127.0.0.1:0 >"$out" 2>"$err")
        status=$?
        exits "$name: a gateway does not start with it" 2
        check "$name: and says why" grep -q "channels.$name.* is not filled in: it is still CHANGE-ME" "$err"
        sed -i 's/CHANGE-ME/x-1/' "$space/chela.yaml"
    fi
    chela config check
    exits "$name: what it wrote is right" 0
    same "$name: without a warning" "" "$(grep -v ': ok$' "$out")"
    chela channels list
    check "$name: it is configured" grep -qE "^$name +unknown" "$out"
    rm -f "$space/chela.yaml"
done
chela init --yes --model scripted/demo --no-test --channel pigeon
exits "an unknown service" 2
check "is named" grep -q "there is no channel 'pigeon'" "$err"
check "and nothing is written" test ! -e "$space/chela.yaml"
chela init --yes --model scripted/demo --no-test --channel telegrm
exits "a misspelt one" 2
check "gets a suggestion" grep -q "there is no channel 'telegrm', did you mean telegram?" "$err"

# --- a service is added to a file that is there
chela init --yes --model scripted/demo --no-test
before=$(cat "$space/chela.yaml")
chela init --yes --channel slack
exits "a service is added" 0
check "which is said" grep -q 'added channels.slack to chela.yaml' "$err"
same "the text before it stays" "$before" "$(head -n "$(wc -l <<<"$before")" "$space/chela.yaml")"
chela channels list
exits "the file is still trusted" 0
check "and has it" grep -qE '^slack +unknown' "$out"
chela init --yes --channel telegram
exits "another" 0
chela config check
exits "both are right" 0
chela channels list
check "both are there" bash -c "grep -q '^slack ' '$out' && grep -q '^telegram ' '$out'"
before=$(cat "$space/chela.yaml")
chela init --yes --channel slack
exits "one that is there" 2
check "is named" grep -q 'chela.yaml has channels.slack already' "$err"
chela init --yes --channel telegrm
exits "a misspelt one is not added" 2
same "the file is as it was" "$before" "$(cat "$space/chela.yaml")"
# what it is like: a comment behind the key, another indentation, no line feed at the end, CRLF
printf '# mine\r\nchannels: # here\r\n\r\n      # soon\r\n      telegram: { tokenEnv: T, dmPolicy: open }\r\nstore: sqlite:x.db' >"$space/chela.yaml"
chela init --yes --channel discord
exits "another layout" 0
check "with its indentation" grep -q '^      discord:$' "$space/chela.yaml"
same "nothing else changes" "$(printf '# mine\r\nchannels: # here\r\n\r\n      # soon\r\n      telegram: { tokenEnv: T, dmPolicy: open }\r\nstore: sqlite:x.db')" \
    "$(sed '/^      discord:$/,/^        # groups/d' "$space/chela.yaml")"
chela config check
exits "it is right" 0
(cd "$space" && env -i PATH="$PATH" HOME="$tmp/elsewhere" "$here" init --yes --channel wecom >"$out" 2>"$err")
check "a file that was not trusted is not" grep -q "chela.yaml is not trusted: read the file, then run 'chela trust'" "$err"
for text in 'channels: { telegram: { tokenEnv: T, dmPolicy: open } }' '{ store: "memory:" }'; do
    printf '%s\n' "$text" >"$space/chela.yaml"
    chela init --yes --channel slack
    exits "a layout that cannot be changed" 2
    same "is left alone" "$text" "$(cat "$space/chela.yaml")"
    check "the lines are shown" bash -c "grep -q '^  slack:$' '$out' && grep -q '^    botTokenEnv: SLACK_BOT_TOKEN' '$out'"
    check "and what to do" grep -q 'put the lines above under its key channels' "$err"
done
echo 'agents: [' >"$space/chela.yaml"
chela init --yes --channel slack
exits "a file with an error" 2
check "shows it" grep -q 'chela.yaml:' "$err"
same "no temporary file stays" "" "$(cd "$space" && ls chela.yaml.* 2>/dev/null)"
rm -f "$space/chela.yaml"

# --- at a terminal
if command -v tmux >/dev/null; then
    . tests/support/terminal.sh
    program=$(realpath "$program")
    mkdir -p "$tmp/conf/chela/secrets" && echo another >"$tmp/conf/chela/secrets/slack-botToken"
    open_terminal "HOME=$tmp/home XDG_CONFIG_HOME=$tmp/conf $program init --no-test --model scripted/demo"
    shows 'Chat service to connect, of ([a-z]+, )*slack, [a-z, ]+, or Enter for none'
    types slack
    press Enter
    shows 'Enter it to keep it in'
    types xoxb-SENTINEL
    press Enter
    shows 'environment variable SLACK_APP_TOKEN'
    press Enter
    shows 'Your own id'
    types U012ABC
    press Enter
    ends "a service chosen at the terminal" 0
    lacks "the secret is not shown" SENTINEL
    same "the secret of another configuration stays" another "$(cat "$tmp/conf/chela/secrets/slack-botToken")"
    same "it is in a file" xoxb-SENTINEL "$(cat "$tmp/conf/chela/secrets/slack-botToken-2")"
    same "of the user" 600 "$(stat -c %a "$tmp/conf/chela/secrets/slack-botToken-2")"
    check "which the configuration names" grep -q "botTokenFile: \"$tmp/conf/chela/secrets/slack-botToken-2\"" "$space/chela.yaml"
    check "the other is left to the environment" grep -q 'appTokenEnv: SLACK_APP_TOKEN' "$space/chela.yaml"
    check "the owner" grep -q 'owners: \["U012ABC"\]' "$space/chela.yaml"
    check "no secret is in the file" bash -c "! grep -q SENTINEL '$space/chela.yaml'"
    chela config check --config chela.yaml
    exits "and it is right" 0

    at_terminal() { # FLAG...
        open_terminal "trap : INT; HOME=$tmp/home XDG_CONFIG_HOME=$tmp/conf $program init --no-test --config other.yaml $*"
    }
    at_terminal --model scripted/demo --channel slack
    shows 'keep it in .*slack-botToken-3'
    types xoxb-OTHER
    press Enter
    shows 'environment variable SLACK_APP_TOKEN'
    press C-c
    ends "Ctrl-C at a secret" 4
    sees "Ctrl-C at a secret: said" '^chela: nothing was written'
    same "Ctrl-C at a secret: the terminal is as before" "$(cat "$tmp/before")" "$(cat "$tmp/after")"
    check "Ctrl-C at a secret: the first secret is removed" [ ! -e "$tmp/conf/chela/secrets/slack-botToken-3" ]
    at_terminal
    shows 'Model to use'
    press C-c
    ends "Ctrl-C at the model" 4
    at_terminal --model scripted/demo
    shows 'Chat service to connect'
    press C-d
    ends "Ctrl-D at the service" 4
    check "nothing was written" [ ! -e "$space/other.yaml" ]
fi
tap_done
