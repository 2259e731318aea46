#!/usr/bin/env bash
# What `make demo` shows, on the command line and in a chat, and the same job asked
# for in English.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh

check "the demo runs" scripts/demo "$program"
LC_ALL=zh_CN.UTF-8 scripts/demo "$program" >"$out" 2>&1
check "in the language of its reader" grep -q 帮我写一个 "$out"
check "the demo answers" grep -q 'list_files.py' "$out"
if command -v python3 >/dev/null; then
    check "the demo's program works" grep -qx 'skills/create-python-script/SKILL.md' "$out"
else
    skip "the demo's program works" "python3 is not installed"
fi
check "in a chat: an event comes in" grep -q '^Feishu -> .* om_1 "帮我写一个' "$out"
check "in a chat: the agent works" bash -c "grep -A 20 '^\$ chela trace' '$out' | grep -c 'tool .* \(read\|ls\|write\) ' | grep -qx 3"
check "in a chat: the answer goes out" bash -c "sed -n '/^Feishu <-/,\$p' '$out' | grep -q '\`list_files.py\`'"
check "whatever proxies its user has" env http_proxy=http://127.0.0.1:9 all_proxy=http://127.0.0.1:9 scripts/demo "$program"

mkdir -p "$space/skills/create-python-script" && echo '# skill' >"$space/skills/create-python-script/SKILL.md"
chela run --model scripted/demo --output jsonl "write a Python script that lists all files in this directory"
exits "in English" 0
events_are_well_formed "in English"
holds "in English: reads, lists, writes" '[.[] | select(.type == "tool_call").name] == ["read", "ls", "write"]'
check "in English: the file is there" test -s "$space/list_files.py"
chela run --model scripted/demo "write a Python script that lists all files in this directory"
exits "a second time" 0
check "a second time: nothing is overwritten" grep -q "left it as it is" "$out"
tap_done
