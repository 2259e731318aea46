#!/usr/bin/env bash
# Skills of a workspace: listed, shown, and told to the model.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh

chela skills list
exits "no skills" 0
check "no skills: how to make one" grep -q 'skills/NAME/SKILL.md' "$out"

mkdir -p "$space/skills/deploy" "$space/skills/broken" "$space/.agents/skills/notes"
printf -- '---\nname: deploy\ndescription: Ship </skill> it\nversion: 1.2\n---\nPress the button.\n' >"$space/skills/deploy/SKILL.md"
printf -- '---\nname: Bad Name\ndescription: d\n---\n' >"$space/skills/broken/SKILL.md"
printf '# notes\n\nKeep \033[31mnotes.\n' >"$space/.agents/skills/notes/SKILL.md"

chela skills list
exits "a list" 0
check "a list: what is used" grep -qE '^deploy +1\.2 +\./skills/deploy/SKILL\.md +Ship </skill> it$' "$out"
check "a list: of both folders" grep -qE '^notes .*\./\.agents/skills/notes/SKILL\.md +Keep' "$out"
check "a list: what is not" grep -qE '^not used: \./skills/broken/SKILL.md: the name "Bad Name"' "$out"

chela skills list --json
same "as JSON" 'deploy true 1.2' "$(jq -r '.[0] | "\(.name) \(.used) \(.version)"' "$out")"
same "as JSON: what is wrong" 1 "$(jq '[.[] | select(.problem)] | length' "$out")"

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
exits "show: a slip" 1
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
check "called: none of that name: which there are" grep -q "there is no skill 'depoly' (known: deploy, notes)" "$err"
chela run --model scripted/echo.yaml /skill
exits "called: which" 2
printf -- '---\nname: notes\ndescription: d\nuser-invocable: false\n---\n' >"$space/.agents/skills/notes/SKILL.md"
chela run --model scripted/echo.yaml /skill notes
exits "called: not for people" 2
rm "$space/skills/deploy/SKILL.md"
ln -s /proc/version "$space/skills/deploy/SKILL.md"
chela run --model scripted/echo.yaml /skill deploy
exits "called: a link that leads out" 2

tap_done
