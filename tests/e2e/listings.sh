#!/usr/bin/env bash
# Listings on a terminal: cut to its width, and through a pager when they are
# longer than it; elsewhere whole, and as they are.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/terminal.sh

# in_terminal COMMAND...: run it there, and wait for its end.
in_terminal() {
    open_terminal "$*"
    ends "$*: it ends" 0
}

in_terminal "PAGER=\"sed 's/^/| /'\" $program models list"
sees "a long listing goes to the pager" '^\| ollama '
in_terminal "PAGER=cat $program models list"
lacks "PAGER=cat: none" '^\| '
in_terminal "PAGER=\"sed 's/^/| /'\" $program tools list"
sees "a short one does not" '^NAME +PERMISSION'
sees "it is cut to the width" '^grep .*…$'
same "a line for each" "$(terminal capture-pane -p | grep -cE '^[a-z_]+ +(read|write|admin) ')" \
    "$(terminal capture-pane -p | grep -cE '^[a-z_]')"
in_terminal "PAGER=no-such-pager $program models list"
sees "without such a pager it is printed" '^ollama '
in_terminal "PAGER=\"sed 's/^/| /'\" $program models list >all"
same "a file: no pager" 0 "$(grep -c '^| ' "$space/all")"
chela tools list
same "elsewhere nothing is cut" 0 "$(grep -c '…$' "$out")"
for what in "tools list" "tools show exec" "skills list" "prompt list" "models list" "sessions list" "config show" "usage" doctor; do
    # shellcheck disable=SC2086
    chela $what --json
    exits "$what --json" 0
    check "$what --json" jq -e 'type == "array" or type == "object"' "$out"
done
close_terminal
# Without an entry, a line on standard error says so, and JSON is an empty list.
mkdir "$space/empty" "$space/none"
absolute=$(realpath "$program")
for what in "sessions list" "sessions search word" "schedule list" "pairing list" "mcp list" "mcp doctor" "skills list" usage \
    "trust --list"; do
    rm -rf "$space/none" && mkdir "$space/none" # the first command of a new user
    # shellcheck disable=SC2086
    (cd "$space/empty" && with_env HOME="$space/none" "$absolute" $what >"$out" 2>"$err")
    status=$?
    exits "$what: nothing to list" 0
    same "$what: nothing to list: standard output" "" "$(cat "$out")"
    same "$what: nothing to list: a line says so" 1 "$(wc -l <"$err")"
    # shellcheck disable=SC2086
    (cd "$space/empty" && with_env HOME="$space/none" "$absolute" $what --json >"$out" 2>"$err")
    same "$what --json: nothing to list" "[]" "$(cat "$out")"
done
for what in "sessions list" "pairing list" usage; do
    # shellcheck disable=SC2086
    chela $what --store sqlite:typo.db
    exits "$what: a store that does not exist" 2
done
check "no store is made for a typo" [ ! -e "$space/typo.db" ]

# Whatever stdout is, no listing holds a control character: a file is looked at in a terminal, too.
# Names and texts come from others: keys of sessions, what people and models say, names of files.
esc=$'\e' c1=$'\xc2\x9b' bidi=$'\xe2\x80\xae'
cat >"$space/rules.yaml" <<YAML
rules:
  - { when: { after: none }, say: "red \u001b[31m \u009b31m \u202e \u0007 \x7f" }
YAML
strange="k${esc}]0;t${c1}31m"$'\x07'"${bidi}"$'\r\nforged'
chela run --store sqlite:listed.db --model scripted/rules.yaml --session "$strange" "ask ${esc}[2J ${c1}2J ${bidi}"
exits "a session with such a key" 0
clean() { # NAME COMMAND...
    local name=$1
    shift
    chela "$@"
    exits "$name: it ends" 0
    check "$name: it says something" test -s "$out"
    same "$name: no control characters" 0 \
        "$(LC_ALL=C grep -caP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae]' "$out")"
}
clean "sessions list" sessions list --store sqlite:listed.db
same "a key adds no row" 2 "$(wc -l <"$out")"
clean "sessions list --json" sessions list --json --store sqlite:listed.db
same "which is the same key" "$strange" "$(jq -r '.[0].key' "$out")"
clean "sessions show" sessions show --store sqlite:listed.db "$strange"
clean "sessions fork" sessions fork --store sqlite:listed.db --key "${strange}2" "$strange"
clean "sessions export" sessions export --store sqlite:listed.db "$strange"
clean "trace" trace --store sqlite:listed.db "$strange"
clean "trace --json" trace --json --store sqlite:listed.db "$strange"
clean "usage" usage --store sqlite:listed.db
mkdir -p "$space/skills/s1"
printf -- '---\nname: s1\ndescription: "red \\e[31m \\x9b"\n---\nx\n' >"$space/skills/s1/SKILL.md"
clean "skills list" skills list
# --- words after a command that takes none
for what in "sessions list" "schedule list" "mcp list" "mcp doctor" "mcp serve" "tools list" serve chat doctor; do
    # shellcheck disable=SC2086
    chela $what word
    same "$what: a word is an error" 2 "$status"
    check "$what: the message names it" grep -q "'word': $what takes no words" "$err"
done
tap_done
