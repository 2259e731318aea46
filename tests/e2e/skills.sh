#!/usr/bin/env bash
# Skills of a workspace: listed, shown, and told to the model.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh

chela skills list
exits "no skills" 0
check "no skills: how to make one" grep -q 'skills/NAME/SKILL.md' "$err"
same "no skills: an empty list" "" "$(cat "$out")"

mkdir -p "$space/skills/deploy" "$space/skills/broken" "$space/.agents/skills/notes"
printf -- '---\nname: deploy\ndescription: Ship </skill> it\nversion: 1.2\n---\nPress the button.\n' >"$space/skills/deploy/SKILL.md"
printf -- '---\nname: Bad Name\ndescription: d\n---\n' >"$space/skills/broken/SKILL.md"
printf '# notes\n\nKeep \033[31mnotes.\n' >"$space/.agents/skills/notes/SKILL.md"

chela skills list
exits "a list" 0
check "a list: what is used" grep -qE '^deploy +1\.2 +\./skills/deploy/SKILL\.md +Ship </skill> it$' "$out"
check "a list: of both folders" grep -qE '^notes .*\./\.agents/skills/notes/SKILL\.md +Keep' "$out"
check "a list: a name that is none is made one" grep -qE '^bad-name +[0-9a-f]+ +\./skills/broken/SKILL.md' "$out"
check "a list: and that is said" grep -qE '^warning: \./skills/broken/SKILL.md: the name "Bad Name" is not made of' "$out"

chela skills list --json
same "as JSON" 'deploy true 1.2' "$(jq -r '.[] | select(.name == "deploy") | "\(.name) \(.used) \(.version)"' "$out")"
same "as JSON: what is strange" 1 "$(jq '[.[] | select(.warning)] | length' "$out")"

mkdir "$space/skills/null" "$space/skills/zip"
printf 'Does nothing.\n' | tee "$space/skills/null/SKILL.md" >"$space/skills/zip/SKILL.md"
chela skills list
same "a skill called null: it and the next one" 'null zip' \
    "$(awk '/Does nothing/ { print $1 }' "$out" | paste -sd ' ')"
chela skills show zip
exits "a skill called null: the next one is shown" 0
rm -r "$space/skills/null" "$space/skills/zip"

mkdir "$space/skills/link"
ln -s /proc/version "$space/skills/link/SKILL.md"
chela skills list
check "a link that leads out: said so" grep -qE '^not used: .*/skills/link/SKILL.md: it is a link that leads out' "$out"
rm -r "$space/skills/link"

# More than the prompt has room for: said to the operator and to the model.
for i in $(seq 10 45); do
    mkdir "$space/skills/many$i"
    printf -- '---\nname: many%s\ndescription: %s\n---\n' "$i" "$(printf '%0600d' 0)" >"$space/skills/many$i/SKILL.md"
done
chela skills list
untold=$(grep -c '^the model is not told of it: ' "$out")
check "too many: which" test "$untold" -gt 0
check "too many: a warning" grep -q "skills are not described to the model: there is room for 18 KB" "$err"
cat >"$space/more.yaml" <<'YAML'
rules:
  - when: { system: '<more>([0-9]+) more are not listed here' }
    say: "{{1}} more"
  - say: nothing is missing
YAML
chela run --model scripted/more.yaml go
same "too many: the model is told how many" "$untold more" "$(cat "$out")"
rm -r "$space"/skills/many*

chela skills show deploy
exits "show" 0
check "show: its text" grep -q 'Press the button' "$out"
chela skills show depoly
exits "show: a slip" 2
check "show: a slip: what was meant" grep -q "did you mean 'deploy'" "$err"
chela skills show
exits "show: which" 2

# What the model sees.
cat >"$space/rules.yaml" <<'YAML'
rules:
  - when: { system: '<name>deploy</name>\s+<description>Ship &lt;/skill&gt; it' }
    say: knows of deploy
  - say: knows nothing
YAML
chela run --model scripted/rules.yaml go
same "the model is told" "knows of deploy" "$(cat "$out")"
chela run --model scripted/rules.yaml --system "Be brief." go
same "with instructions of one's own too" "knows of deploy" "$(cat "$out")"
chela run --model scripted/rules.yaml --deny read go
same "but not if it cannot read them" "knows nothing" "$(cat "$out")"
echo 'agents: { defaults: { skills: { allow: [no*] } } }' >"$space/chela.yaml"
chela run --model scripted/rules.yaml go
same "nor if it may not use it" "knows nothing" "$(cat "$out")"
chela skills list
check "the list says so" grep -q "not used: ./skills/deploy/SKILL.md: not in the agent's list" "$out"

rm "$space/chela.yaml"

# Called by hand.
cat >"$space/echo.yaml" <<'YAML'
rules:
  - when: { user: 'Use the skill deploy .* relative to \./skills/deploy\.\s+<skill_file name="deploy">\s+Press the button\.\s+</skill_file>\s+to staging' }
    say: pressed
  - when: { user: '^/skills are fun' }
    say: just words
  - say: nothing
YAML
chela run --model scripted/echo.yaml /skill deploy to staging
same "called by a person" "pressed" "$(cat "$out")"
chela run --model scripted/echo.yaml /skills are fun
same "called: words that only begin alike" "just words" "$(cat "$out")"
chela run --model scripted/echo.yaml /skill depoly
exits "called: none of that name" 2
check "called: none of that name: which there are" grep -q "there is no skill 'depoly' (known: bad-name, deploy, notes)" "$err"
chela run --model scripted/echo.yaml /skill
exits "called: which" 2
printf -- '---\nname: notes\ndescription: d\nuser-invocable: false\n---\n' >"$space/.agents/skills/notes/SKILL.md"
chela run --model scripted/echo.yaml /skill notes
exits "called: not for people" 2
rm "$space/skills/deploy/SKILL.md"
ln -s /proc/version "$space/skills/deploy/SKILL.md"
chela run --model scripted/echo.yaml /skill deploy
exits "called: a link that leads out" 2

# --- where others keep them
home=$tmp/home
mkdir -p "$home/.agents/skills/数据分析/scripts" "$home/.claude/skills" "$space/.claude/skills/review" "$tmp/elsewhere"
printf -- '---\nname: 数据分析\ndescription: Analyse data\n---\nUse pandas.\n' >"$home/.agents/skills/数据分析/SKILL.md"
echo 'echo chart' >"$home/.agents/skills/数据分析/scripts/plot.sh"
printf -- '---\nname: review\ndescription: Review it\n---\n' >"$space/.claude/skills/review/SKILL.md"
ln -s ../../.agents/skills/数据分析 "$home/.claude/skills/数据分析"
printf 'a secret\n' >"$tmp/elsewhere/file"
ln -s "$tmp/elsewhere/file" "$home/.agents/skills/数据分析/leak"
at_home() { # ARGS: the program with this home
    (cd "$space" && HOME=$home XDG_CONFIG_HOME='' XDG_STATE_HOME='' "$program" "$@") >"$out" 2>"$err"
}
at_home skills list --json
same "of .claude in the workspace" review "$(jq -r '.[] | select(.location == "./.claude/skills/review/SKILL.md") | .name' "$out")"
same "of the user, in Chinese" 数据分析 "$(jq -r ".[] | select(.location == \"$(realpath "$home")/.agents/skills/数据分析/SKILL.md\") | .name" "$out")"
same "a link to another place is the same skill" 1 "$(jq '[.[] | select(.name == "数据分析")] | length' "$out")"
cat >"$space/user.yaml" <<YAML
rules:
  - { when: { after: read }, say: "read: {{result}}" }
  - { when: { user: leak }, call: { tool: read, args: { file_path: "$(realpath "$home")/.agents/skills/数据分析/leak" } } }
  - { when: { user: outside }, call: { tool: read, args: { file_path: "$(realpath "$tmp")/elsewhere/file" } } }
  - { when: { user: write }, call: { tool: write, args: { file_path: "$(realpath "$home")/.agents/skills/数据分析/SKILL.md", content: x } } }
  - { when: { after: write }, say: "write: {{result}}" }
  - { call: { tool: read, args: { file_path: "$(realpath "$home")/.agents/skills/数据分析/SKILL.md" } } }
YAML
at_home run --model scripted/user.yaml go
check "the model can read it" grep -q 'Use pandas' "$out"
at_home run --model scripted/user.yaml leak
check "but not what a link leads to" bash -c "! grep -q 'a secret' '$out'"
at_home run --model scripted/user.yaml outside
check "nor what lies elsewhere" bash -c "! grep -q 'a secret' '$out'"
at_home run --model scripted/user.yaml --approve auto write
check "nor write it" grep -q 'Use pandas' "$home/.agents/skills/数据分析/SKILL.md"
check "a person can call it" at_home run --model scripted/user.yaml "/skill 数据分析 now"
echo 'store: sqlite:./x.db' >"$space/chela.yaml"
at_home skills list --json
same "in a directory that is not trusted: those of the user" 'true' "$(jq -r '.[] | select(.name == "数据分析") | .used' "$out")"
same "and none of its own" 0 "$(jq '[.[] | select(.used and (.location | startswith("./")))] | length' "$out")"
rm "$space/chela.yaml"

# --- instructions of directories
mkdir -p "$space/repo/.git" "$space/repo/pkg/app/sub/deep" "$space/repo/pkg/app/plain"
echo 'Root rule.' >"$space/repo/AGENTS.md"
echo 'Claude rule of pkg.' >"$space/repo/pkg/CLAUDE.md"
echo 'Gemini rule of app.' >"$space/repo/pkg/app/GEMINI.md"
echo 'Sub rule.' >"$space/repo/pkg/app/sub/AGENTS.md"
echo 'Above the repository.' >"$space/AGENTS.md"
echo one >"$space/repo/pkg/app/sub/deep/file"
echo two >"$space/repo/pkg/app/plain/file"
cat >"$space/order.yaml" <<'YAML'
rules:
  - { when: { user: nested, after: none }, call: { tool: read, args: { file_path: sub/deep/file } } }
  - { when: { user: again, after: none }, call: { tool: read, args: { file_path: sub/deep/file } } }
  - { when: { after: read }, say: "got: {{result}}" }
  - { when: { system: 'Above the repository' }, say: "too high" }
  - { when: { system: '"../../AGENTS.md">\s+Root rule.*"../CLAUDE.md">\s+Claude rule of pkg.*"GEMINI.md">\s+Gemini rule of app' }, say: "in order" }
  - { say: "not so" }
YAML
cp "$space/order.yaml" "$space/repo/pkg/app/"
cd_app() { (cd "$space/repo/pkg/app" && HOME=$home XDG_CONFIG_HOME='' XDG_STATE_HOME='' "$program" "$@") >"$out" 2>"$err"; }
cd_app run --model scripted/order.yaml go
same "AGENTS.md from the root of the repository down, and what others call it" "in order" "$(cat "$out")"
printf 'nested\nagain\n' >"$tmp/lines"
cd_app chat --model scripted/order.yaml --no-session <"$tmp/lines"
same "two files are read" 2 "$(grep -c '^got:' "$out")"
same "that of a directory below, when a file there is read, once" 1 "$(grep -c 'Sub rule' "$out")"
tap_done
