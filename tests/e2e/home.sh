#!/usr/bin/env bash
# The workspace is the home directory, where chela keeps its own files: the store, the history.
# chela writes them while commands run, and does not set them aside after a command.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
program=$(realpath "$program")
with_env() { env -i PATH="$PATH" HOME="$space" LC_ALL=C.UTF-8 TERM=dumb CHELA_TEST_RUN="$CHELA_TEST_RUN" CHELA_TEST="$CHELA_TEST" "$@"; }

cat >"$tmp/rules.yaml" <<'YAML'
rules:
  - when: { user: "^both", after: none }
    call:
      - { tool: exec, args: { command: "sleep 0.2; echo one" } }
      - { tool: exec, args: { command: "echo two" } }
  - when: { user: "^wait", after: none }
    call: { tool: exec, args: { command: "touch begun; sleep 3" } }
  - when: { user: "^plant", after: none }
    call: { tool: exec, args: { command: "echo evil >.local/state/chela/trust" } }
  - say: "done"
YAML
model=scripted/$tmp/rules.yaml
stored() { # NAME SESSION...: the store has these sessions, and no file was set aside
    local name=$1
    shift
    chela sessions list --json
    same "$name: the sessions are stored" "$*" "$(jq -r '.[].key' "$out" | sort | xargs)"
    same "$name: nothing is set aside" "" "$(find "$space" -name '*.held*')"
}
begin() { # SESSION: a run whose command takes a while
    rm -f "$space/begun"
    (cd "$space" && exec env -i PATH="$PATH" HOME="$space" CHELA_TEST_RUN="$CHELA_TEST_RUN" CHELA_TEST="$CHELA_TEST" \
        "$program" run --model "$model" --approve auto --session "$1" wait >"$tmp/first" 2>&1) &
    first=$!
    for _ in {1..100}; do
        [ -e "$space/begun" ] && break
        sleep 0.05
    done
}

chela run --model "$model" --approve auto --session a both
exits "two commands at once" 0
stored "two commands at once" a

begin b
chela run --model "$model" --session c hello
wait $first
same "a run beside a command: the command's run ends well" 0 $?
stored "a run beside a command" a b c

begin d
kill -9 $first
wait $first 2>/dev/null
sleep 4 # the end of the command, and of the search after it
stored "chela was killed during a command" a b c d
chela sessions resume d --model "$model" --approve auto
exits "chela was killed during a command: the run is resumed" 0

chela run --model "$model" --approve auto plant
check "a command cannot write there" sh -c "! grep -qs evil '$space/.local/state/chela/trust'"
tap_done
