#!/usr/bin/env bash
# chela skills add and remove: folders and archives, and what a hostile one may not do.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/terminal.sh

folder=$tmp/.config/chela/skills
mkdir -p "$space/src/scripts"
printf -- '---\nname: greet\ndescription: Greets people.\n---\nSay hello.\n' >"$space/src/SKILL.md"
printf '#!/bin/sh\necho 你好\n' >"$space/src/scripts/run me.sh"
chmod +x "$space/src/scripts/run me.sh"
ln -s ../src "$tmp/elsewhere"

refused() { # NAME PATTERN SOURCE [FLAG]: nothing is installed
    chela skills add --yes "${@:3}"
    check "$1: refused" [ "$status" -ne 0 ]
    check "$1: says why" grep -qE -- "$2" "$err"
    [ $# -gt 3 ] || same "$1: names the source, in one line" "1 1" "$(wc -l <"$err") $(grep -cF "chela: $3: " "$err")"
    same "$1: nothing is left" "" "$(find "$tmp/.config" "$space/skills" -mindepth 1 -not -path "$folder" -not -path "$tmp/.config/chela" 2>/dev/null)"
}

# --- from a folder
chela skills add src
same "nobody to ask" 2 $status
check "names --yes" grep -q -- '--yes' "$err"
chela skills add --yes src
same "installed" 0 $status
check "name and digest" grep -qxE 'greet [0-9a-f]{64}' "$out"
digest=$(cut -d' ' -f2 "$out")
check "the file" cmp "$space/src/SKILL.md" "$folder/greet/SKILL.md"
check "a program stays one" [ -x "$folder/greet/scripts/run me.sh" ]
same "the digest is kept" "$digest" "$(jq -r .digest "$folder/greet/.chela-skill.json")"
chela skills list --json
same "is used" "Greets people." "$(jq -r '.[] | select(.name == "greet").description' "$out")"
chela skills add --yes src
same "not replaced" 2 $status
check "says that it is there" grep -q 'already' "$err"
chela skills remove greet
same "removed" 0 $status
check "is gone" [ ! -e "$folder/greet" ]
chela skills remove greet
check "not twice" grep -q 'no skill greet' "$err"
mkdir -p "$folder/mine"
echo x >"$folder/mine/SKILL.md"
chela skills remove mine
check "one's own is kept" [ -e "$folder/mine/SKILL.md" ]
chela skills remove ../skills/mine
check "no path" grep -q 'not the name' "$err"
rm -r "$folder/mine"
chela skills add --yes --project src
check "for the project" [ -e "$space/skills/greet/SKILL.md" ]
rm -r "$space/skills"

# --- from an archive
for form in "" z; do
    tar -C "$space" -c"$form"f "$space/skill.tar${form:+.gz}" src
    chela skills add --yes "skill.tar${form:+.gz}"
    same "archive ${form:-plain}: the same digest" "greet $digest" "$(cat "$out")"
    check "archive ${form:-plain}: a program stays one" [ -x "$folder/greet/scripts/run me.sh" ]
    chela skills remove greet
done
tar -C "$space/src" -cf "$space/flat.tar" .
chela skills add --yes flat.tar
same "without a folder at the top" "greet $digest" "$(cat "$out")"
chela skills remove greet
long=$(printf 'n%.0s' {1..120})
mkdir -p "$space/long/src/$long"
cp "$space/src/SKILL.md" "$space/long/src/"
echo x >"$space/long/src/$long/f"
for format in gnu pax; do
    tar --format=$format -C "$space/long" -cf "$space/long.tar" src
    chela skills add --yes long.tar
    check "long names ($format)" [ -e "$folder/greet/$long/f" ]
    chela skills remove greet
done

# --- hostile sources
python3 - "$space" <<'PY'
import io, sys, tarfile, gzip
space = sys.argv[1]
skill = b"---\nname: bad\ndescription: Bad.\n---\n"
def make(name, *entries, mode="w"):
    with tarfile.open(f"{space}/{name}", mode) as t:
        for path, kind, data in (("s/SKILL.md", "file", skill),) + entries:
            i = tarfile.TarInfo(path)
            if kind == "file":
                i.size = len(data)
                t.addfile(i, io.BytesIO(data))
            else:
                i.type = {"link": tarfile.SYMTYPE, "hard": tarfile.LNKTYPE, "device": tarfile.CHRTYPE, "fifo": tarfile.FIFOTYPE}[kind]
                i.linkname = data
                t.addfile(i)
make("up.tar", ("s/../../evil", "file", b"x"))
make("up2.tar", ("../evil", "file", b"x"))
make("abs.tar", ("/tmp/evil", "file", b"x"))
make("link.tar", ("s/l", "link", "/etc"), ("s/l/passwd", "file", b"x"))
make("hard.tar", ("s/h", "hard", "/etc/passwd"))
make("device.tar", ("s/d", "device", ""))
make("fifo.tar", ("s/f", "fifo", ""))
make("git.tar", ("s/.git/config", "file", b"[core]\nfsmonitor=false\n"), ("s/sub/.GIT/config", "file", b"x"), ("s/.chela-skill.json", "file", b"{}"))
make("twice.tar", ("s/SKILL.md", "file", b"other"))
make("spellings.tar", ("s/skill.md", "file", b"---\nname: other\ndescription: d\n---\n"))
make("outside.tar", ("other/file", "file", b"x"))
make("control.tar", ("s/a\x1b[2J", "file", b"x"))
make("deep.tar", ("s/" + "d/" * 20 + "f", "file", b"x"))
make("many.tar", *[(f"s/{i}", "file", b"") for i in range(600)])
make("big.tar", ("s/big", "file", b"\0" * (9 << 20)))
make("bomb.tar.gz", ("s/big", "file", b"\0" * (200 << 20)), mode="w:gz")
with tarfile.open(f"{space}/none.tar", "w") as t:
    i = tarfile.TarInfo("a"); i.size = 1; t.addfile(i, io.BytesIO(b"x"))
data = open(f"{space}/many.tar", "rb").read()
open(f"{space}/cut.tar", "wb").write(data[:700])
open(f"{space}/sum.tar", "wb").write(data[:100] + b"9" + data[101:])
open(f"{space}/text.tar", "w").write("not an archive " * 100)
open(f"{space}/bad.tar.gz", "w").write("not gzip")
open(f"{space}/empty.tar", "w")
PY
refused "a path up" 'path that is refused' up.tar
refused "a path up at the top" 'path that is refused|outside' up2.tar
refused "an absolute path" 'path that is refused|outside' abs.tar
refused "a link" 'link or a device' link.tar
refused "a hard link" 'link or a device' hard.tar
refused "a device" 'link or a device' device.tar
refused "a pipe" 'link or a device' fifo.tar
refused "twice" 'occurs twice' twice.tar
refused "in two spellings" 'in two spellings' spellings.tar
refused "another folder" 'outside of the skill' outside.tar
refused "control characters" 'path that is refused' control.tar
check "control characters are not printed" [ -z "$(tr -d '\n -~' <"$err")" ]
refused "too deep" 'path that is refused' deep.tar
refused "too many files" 'more than 500 files' many.tar
refused "too large" 'more than .*8 MB' big.tar
refused "a bomb" 'more than 8 MB' bomb.tar.gz
refused "no skill" 'no SKILL.md' none.tar
printf 'PK\003\004' >"$space/a.zip"
refused "a zip archive" 'a.zip: a skill is installed from a folder or from a tar archive .*such as zip, have to be unpacked' a.zip
refused "nothing" 'nowhere: No such file' nowhere
refused "cut off" 'damaged|no SKILL.md' cut.tar
refused "a wrong sum" 'not a tar archive' sum.tar
refused "no archive" 'not a tar archive' text.tar
refused "no gzip" 'gzip cannot decompress' bad.tar.gz
refused "empty" 'empty' empty.tar
refused "missing" 'No such file' nosuch
refused "a missing archive" 'No such file' nosuch.tgz
mkdir -p "$space/linked"
cp "$space/src/SKILL.md" "$space/linked/"
ln -s /etc/passwd "$space/linked/l"
refused "a link in a folder" 'link or a device' linked
rm "$space/linked/l"
mkfifo "$space/linked/pipe"
refused "a pipe in a folder" 'link or a device' linked
mkfifo "$space/pipe.tar" "$space/pipe.tgz"
refused "a pipe as an archive" 'not a file' pipe.tar
refused "a pipe as a packed archive" 'not a file' pipe.tgz
check "nothing came out" [ ! -e /tmp/evil ]
chela skills add --yes git.tar
exits "a repository in an archive" 0
same "a repository in an archive: left out, and so is a record" "SKILL.md .chela-skill.json" "$(cd "$folder/bad" && find . -type f -printf '%P\n' | sort -r | xargs)"
check "a record in an archive does not count" grep -q git.tar "$folder/bad/.chela-skill.json"
chela skills remove bad
mkdir "$space/elsewhere"
ln -s elsewhere "$space/skills"
refused "a project's folder that is a link" './skills is a link' src --project
check "nothing was installed behind the link" [ -z "$(ls "$space/elsewhere")" ]
rm "$space/skills"
cp -r "$space/src" "$space/more"
head -c 4000 /dev/zero >"$space/more/zeroes"
(trap '' XFSZ && ulimit -f 1 && chela skills add --yes more && exit "$status")
same "no space: exit code" 1 $?
check "no space: names the folder of the skill" grep -qxF "chela: $folder/greet: File too large" "$err"
same "no space: nothing is left" "" "$(ls -A "$folder")"

# --- at a terminal
open_terminal "$program skills add src"
sees "asks" 'Install greet \(2 files'
sees "shows what it is for" '^greet: '
types "n"
press Enter
ends "no" 4
check "nothing was installed" [ ! -e "$folder/greet" ]
open_terminal "$program skills add src"
shows 'Install greet'
types "y"
press Enter
ends "yes" 0
check "was installed" [ -e "$folder/greet/SKILL.md" ]
tap_done
