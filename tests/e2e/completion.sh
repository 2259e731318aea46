#!/usr/bin/env bash
# Completion for shells: what bash would be offered, by our own script.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh

chela completion bash
exits "a script for bash" 0
# shellcheck disable=SC1090
. "$out"
offered() {
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    _chela
    echo "${COMPREPLY[*]}"
}
same "a group's commands" "resume recover" "$(offered chela sessions re)"
same "flags of a command" "--output" "$(offered chela run --outp)"
same "flags of a command in a group" "--status" "$(offered chela sessions list --stat)"
same "the words of a choice" "json jsonl" "$(offered chela run --output j)"
same "the word of a command that takes one of a few" "bash" "$(offered chela completion b)"
same "help: a command" "sessions" "$(offered chela help sess)"
same "help: a command in a group" "resume recover" "$(offered chela help sessions re)"
same "no flag after a word" "" "$(offered chela run hello "")"
for command in run sessions trace help; do
    check "offered first: $command" grep -qw "$command" <<<"$(offered chela "")"
done

chela completion fish
exits "a script for fish" 0
check "with the words of a command" grep -q -- "completion' -a 'bash zsh fish'" "$out"
check "with its choices" grep -q -- "-l output -x -a 'text json jsonl'" "$out"
chela completion zsh
check "a script for zsh" grep -q bashcompinit "$out"
chela completion tcsh
exits "an unknown shell" 2
tap_done
