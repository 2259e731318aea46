#!/usr/bin/env bash
# `make install`: the program runs from there, a C and a C++ program link with
# what pkg-config says, and DESTDIR is respected.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
start_server

prefix=$tmp/prefix
# install-now: what was built, with whatever flags, and nothing built again.
check "make install" make -s install-now BUILD="$BUILD" PREFIX="$prefix"
for file in bin/chela lib/libchela.so lib/libchela.so.0 lib/libchela.a lib/libchela-tls.so lib/pkgconfig/chela.pc \
    lib/systemd/system/chela.service lib/systemd/system/chela.socket include/chela.h include/chela/tool.h include/chela/sys/module.h; do
    check "installed: $file" test -s "$prefix/$file"
done
check "DESTDIR" make -s install-now BUILD="$BUILD" PREFIX=/usr DESTDIR="$tmp/dest"
check "DESTDIR: below it" test -x "$tmp/dest/usr/bin/chela"
check "DESTDIR: nor in the unit" grep -q '^ExecStart=/usr/bin/chela serve' "$tmp/dest/usr/lib/systemd/system/chela.service"
check "DESTDIR: not in the files" grep -qx "prefix=/usr" "$tmp/dest/usr/lib/pkgconfig/chela.pc"

program=$prefix/bin/chela
chela --version
exits "the installed program runs" 0
play anthropic hello
same "the installed program works" "Hello, world." "$(cat "$out")"

export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
cat >"$tmp/use.c" <<'C'
#include <chela.h>
#include <stdio.h>
#include <string.h>
int main(void) {
    struct chela_error err = {0};
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(.model = "scripted/demo", .tools = "calculate");
    chela_runtime *rt = NULL;
    chela_agent *agent = NULL;
    if (chela_version_number() != CHELA_VERSION_NUMBER)
        return puts("the headers are of another version than the library"), 1;
    if (chela_runtime_new(NULL, &rt, &err) < 0 || chela_agent_new(rt, &opts, &agent, &err) < 0)
        return puts(err.message), 1;
    char *answer = chela_ask(agent, "what is 17 * 23", &err);
    puts(answer ? answer : err.message);
    int bad = !answer || !strstr(answer, "391");
    chela_free(answer);
    chela_runtime_close(rt);
    return bad;
}
C
cp "$tmp/use.c" "$tmp/use.cc"
sanitize=
case $BUILD in *address*) sanitize=-fsanitize=address,undefined ;; *thread*) sanitize=-fsanitize=thread ;; esac
# shellcheck disable=SC2046
{
    check "a C program links" cc $sanitize -o "$tmp/use-c" "$tmp/use.c" $(pkg-config --cflags --libs chela)
    check "a C++ program links" c++ -std=c++20 $sanitize -o "$tmp/use-cc" "$tmp/use.cc" $(pkg-config --cflags --libs chela)
    check "a C program links statically with libchela" cc $sanitize -o "$tmp/use-a" "$tmp/use.c" $(pkg-config --cflags chela) \
        "$prefix/lib/libchela.a" $(pkg-config --static --libs chela | sed 's/-lchela//')
}
for name in use-c use-cc use-a; do
    check "$name runs" env LD_LIBRARY_PATH="$prefix/lib" "$tmp/$name"
done
# The archive has no name but those of the headers, so that a program may use any other.
same "libchela.a: only public names are global" "" \
    "$(nm -g --defined-only "$prefix/lib/libchela.a" | awk 'NF == 3 && $3 !~ /^chela_/ {print $3}')"
nm -g --defined-only "$prefix/lib/libchela.a" | awk 'NF == 3 {print $3}' | LC_ALL=C sort >"$tmp/static"
nm -D --defined-only "$prefix/lib/libchela.so" | awk '$2 == "T" {sub(/@.*/, "", $3); print $3}' | LC_ALL=C sort >"$tmp/shared"
check "libchela.a: the names of libchela.so" cmp "$tmp/static" "$tmp/shared"
# shellcheck disable=SC2046
check "the program's objects link with libchela.a" cc $sanitize -o "$tmp/chela-static" \
    $(find src/cli -name '*.c' | sed "s|^|$BUILD/obj/|; s|c$|o|") "$prefix/lib/libchela.a" $(pkg-config --static --libs chela | sed 's/-lchela//')
check "and run" env CHELA_MODULE_PATH="$prefix/lib" "$tmp/chela-static" --version

# The first program that people are shown. It is a contract: it compiles as it is here.
cat >"$tmp/first.c" <<'C'
#include <chela.h>
#include <stdio.h>
static int add(chela_call *call, void *user);            /* reads typed arguments, sets a result */
int main(void) {
    chela_runtime *rt; chela_agent *agent; struct chela_error err = {0};
    chela_runtime_new(NULL, &rt, &err);
    chela_agent_new(rt, &(struct chela_agent_opts)CHELA_AGENT_OPTS(.model = "anthropic/claude-sonnet-4-6"), &agent, &err);
    chela_agent_tool(agent, "add", "Add two integers.", "{\"type\":\"object\",...}", add, NULL);
    char *answer = chela_ask(agent, "what is 2 + 40?", &err);   /* blocking convenience over the event API; yours to free */
    puts(answer ? answer : err.message);
    chela_free(answer);
    chela_runtime_close(rt);
}
static int add(chela_call *call, void *user) {
    int64_t a, b;
    (void)user;
    int rc = chela_arg_int(call, "a", &a);
    if (rc == 0)
        rc = chela_arg_int(call, "b", &b);
    if (rc == 0)
        chela_result_printf(call, "%lld", (long long)(a + b));
    return rc;
}
C
# shellcheck disable=SC2046
check "the first program compiles" cc -Wall -Wextra -Werror $sanitize -o "$tmp/first" "$tmp/first.c" $(pkg-config --cflags --libs chela)

# Examples, somewhere else, with nothing but what was installed.
for name in hello hostloop; do
    cp "examples/$name.c" "$tmp/"
    # shellcheck disable=SC2046
    check "examples/$name builds outside of the tree" cc $sanitize -o "$tmp/$name" "$tmp/$name.c" \
        $(pkg-config --cflags --libs chela libuv)
done
same "and runs" "2 + 40 is 42." \
    "$(with_env LD_LIBRARY_PATH="$prefix/lib" CHELA_MODEL=scripted/examples/scripted.yaml "$tmp/hello")"

# The source archive and the packages: what a quick look can tell.
version=$(sed -n 's/^VERSION := //p' Makefile)
soversion=$(sed -n 's/^SOVERSION := //p' Makefile)
same "the headers have the version" "${version//./ }" "$(awk '/define CHELA_VERSION_(MAJOR|MINOR|PATCH) / {printf "%s%s", sep, $3; sep = " "}' include/chela/version.h)"
same "the library has the version" "$version" "$(with_env LD_LIBRARY_PATH="$prefix/lib" "$prefix/bin/chela" --version | awk '{print $NF}')"
same "the packages have the version" "chela ($version)" "$(head -n 1 packaging/debian/changelog | cut -d' ' -f1,2)"
check "a package is named after the library's" grep -qx "Package: libchela$soversion" packaging/debian/control
if git rev-parse -q --verify HEAD >/dev/null 2>&1; then
    for i in 1 2; do make -s dist BUILD="$tmp/dist$i" >/dev/null; done
    check "make dist: the same bytes again" cmp "$tmp/dist1/chela-$version.tar.gz" "$tmp/dist2/chela-$version.tar.gz"
    check "make dist: what is needed to build" sh -c "tar -tzf '$tmp/dist1/chela-$version.tar.gz' | grep -qx 'chela-$version/Makefile'"
fi
check "make uninstall" make -s uninstall BUILD="$BUILD" PREFIX=/usr DESTDIR="$tmp/dest"
same "make uninstall: nothing is left" "" "$(find "$tmp/dest" ! -type d)"
tap_done
