/* test_sandbox.c -- attacks on the sandbox, from inside, on three machines: this
 * one, this one with bubblewrap, and one where namespaces are forbidden; as
 * the user that runs the tests and, if that is root, as nobody too.
 *
 * An attack prints ESCAPED when it got somewhere. Most are first made without
 * a sandbox, where they must succeed: otherwise a typing error would look like
 * a defence. What stands outside are canaries: files that must not change,
 * servers that must not be asked. A layer that a machine does not have must be
 * reported as missing, and then the attacks that only it stops are not made;
 * that is counted, not passed over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "support/boxworld.h"
#include "tool/builtin/builtin.h"
#include "tool/call/command.h"
#include "tool/process/sandbox_probe.h"

/* --- the attacks ---------------------------------------------------------------- */

/* who stops it: any layer; namespaces; those or Landlock 6; the filter, only without namespaces */
enum needs { ANY, BOX, SCOPE, BARE };
enum first { TRY, TRUST };      /* without a sandbox it works; that is not tried */

static const struct attack {
    const char *what, *command;
    enum needs needs;
    enum first first;
    const char *more; /* arguments */
} attacks[] = {
    /* files */
    {"write outside", "echo x > $OUT/new && echo ESCAPED", ANY, TRY, ""},
    {"append", "echo x >> $OUT/canary && echo ESCAPED", ANY, TRY, ""},
    {"truncate", ": > $OUT/canary && echo ESCAPED", ANY, TRY, ""},
    {"remove",
     "rm -f $OUT/canary && test ! -e $OUT/canary && cat ../outside/canary || echo no; "
     "ls $OUT/secret && test ! -e $OUT/canary && echo ESCAPED",
     ANY, TRY, ""},
    {"rename over", "echo x > y; mv -f y $OUT/canary && echo ESCAPED", ANY, TRUST, ""},
    {"hard link", "ln $OUT/canary h && echo x >> h && echo ESCAPED; rm -f h", ANY, TRY, ""},
    {"symbolic link", "ln -sf $OUT l; echo x > l/new && echo ESCAPED; rm -f l", ANY, TRY, ""},
    {"dangling link", "ln -sf $OUT/new d; echo x > d && echo ESCAPED; rm -f d", ANY, TRY, ""},
    {"change of mode", "chmod 600 $OUT/canary && echo ESCAPED", BOX, TRY, ""},
    {"read a secret", "grep -q s3cret $OUT/secret && echo ESCAPED", ANY, TRY, ""},
    {"list what is outside", "ls $OUT | grep -q secret && echo ESCAPED", ANY, TRY, ""},
    {"the way up", "cat ../outside/secret | grep -q s3cret && echo ESCAPED", ANY, TRY, ""},
    {"through /proc", "grep -q s3cret /proc/self/root$OUT/secret && echo ESCAPED", ANY, TRY, ""},
    {"through init", "grep -q s3cret /proc/1/root$OUT/secret && echo ESCAPED", ANY, TRUST, ""},
    {"through a cwd",
     "for p in /proc/[0-9]*; do grep -q s3cret $p/cwd/../outside/secret "
     "2>/dev/null && echo ESCAPED; done; true",
     ANY, TRUST, ""},
    {"the shadow file", "grep -q . /etc/shadow && echo ESCAPED", ANY, TRUST, ""},
    {"the host's keys", "cat /etc/ssh/*key 2>/dev/null | grep -q . && echo ESCAPED", ANY, TRUST,
     ""},
    {"a disk",
     "for d in /dev/[svn]d? /dev/vd? /dev/nvme* /dev/mem /dev/kmsg; do head -c 1 $d "
     ">/dev/null 2>&1 && echo ESCAPED; done; true",
     ANY, TRUST, ""},
    {"the system", "touch /usr/new /etc/new /bin/new 2>/dev/null && echo ESCAPED", ANY, TRUST, ""},
    {"other people's /tmp", "ls ${OUT%/*} | grep -q outside && echo ESCAPED", ANY, TRY, ""},
    {"a repository's own programs",
     "git init -q r && cd r && git config core.fsmonitor \"touch $OUT/new; echo\" && "
     "git -c core.hooksPath=. status >/dev/null; test -e $OUT/new && echo ESCAPED; cd .. && "
     "rm -rf r",
     ANY, TRY, ""},
    /* secrets of the runtime */
    {"environment", "env | grep -q " SENTINEL " && echo ESCAPED", ANY, TRUST, ""},
    {"environment of all",
     "cat /proc/[0-9]*/environ 2>/dev/null | grep -q " SENTINEL " && echo ESCAPED", ANY, TRY, ""},
    {"of the runtime", "grep -q " SENTINEL " /proc/$RUNTIME/environ && echo ESCAPED", ANY, TRY, ""},
    {"of process 1", "grep -q " SENTINEL " /proc/1/environ && echo ESCAPED", ANY, TRUST, ""},
    {"of the parent", "grep -q " SENTINEL " /proc/$PPID/environ && echo ESCAPED", ANY, TRY, ""},
    {"its memory",
     "head -c 1 /proc/$RUNTIME/mem >/dev/null 2>&1; dd if=/proc/$RUNTIME/maps "
     "2>/dev/null | grep -q . && echo ESCAPED",
     ANY, TRY, ""},
    {"its descriptors", "readlink /proc/$RUNTIME/fd/* | grep -q . && echo ESCAPED", ANY, TRY, ""},
    {"descriptors handed on", "test $(ls /proc/self/fd | wc -l) -gt 4 && echo ESCAPED", ANY, TRUST,
     ""},
    /* the network */
    {"a connection", "bash -c \"exec 3<>/dev/tcp/127.0.0.1/$TCP_PORT\" && echo ESCAPED", ANY, TRY,
     ""},
    {"a datagram", "bash -c \"echo x > /dev/udp/127.0.0.1/$UDP_PORT\"; sleep 0.1", ANY, TRUST, ""},
    {"a socket in the file system", "./attacker attack unix $OUT/sock", ANY, TRY, ""},
    {"a datagram to one", "./attacker attack datagram $OUT/datagram", ANY, TRY, ""},
    {"a socket without a name", "./attacker attack unix $NAME", ANY, TRY, ""},
    {"vsock", "./attacker attack vsock", ANY, TRUST, ""},
    {"raw packets", "./attacker attack packet", ANY, TRUST, ""},
    {"the Internet",
     "bash -c 'exec 3<>/dev/udp/1.1.1.1/53' && grep -q ' 00000000 ' /proc/net/route "
     "&& echo ESCAPED",
     ANY, TRUST, ""},
    /* system calls */
    {"ptrace", "./attacker attack ptrace", BARE, TRY, ""},
    {"ptrace the runtime", "./attacker attack ptrace-pid $RUNTIME", ANY, TRUST, ""},
    {"ptrace process 1", "./attacker attack ptrace-pid 1", ANY, TRUST, ""},
    {"memory of process 1", "head -c 1 /proc/1/maps | grep -q . && echo ESCAPED", ANY, TRUST, ""},
    {"another's memory", "./attacker attack vm-read", BARE, TRY, ""},
    {"signal the runtime", "./attacker attack kill $RUNTIME", SCOPE, TRY, ""},
    {"limits of the runtime", "./attacker attack prlimit $RUNTIME", ANY, TRY, ""},
    {"shared memory", "./attacker attack shm $SHM", ANY, TRY, ""},
    {"another terminal", "echo x > $TERMINAL && echo ESCAPED", ANY, TRY, ""},
    {"mount", "./attacker attack mount", ANY, TRUST, ""},
    {"remount", "./attacker attack remount", ANY, TRUST, ""},
    {"unmount what protects", "./attacker attack umount $PWD/.git", ANY, TRUST, ""},
    {"user namespace", "./attacker attack unshare", ANY, TRY, ""},
    {"user namespace by program", "unshare -Ur true && echo ESCAPED", ANY, TRY, ""},
    {"chroot", "./attacker attack chroot", ANY, TRUST, ""},
    {"keyring, write", "./attacker attack keyring", ANY, TRUST, ""},
    {"keyring, read", "./attacker attack keyring-read", ANY, TRY, ""},
    {"io_uring", "./attacker attack io_uring", ANY, TRUST, ""},
    {"bpf", "./attacker attack bpf", ANY, TRUST, ""},
    {"userfaultfd", "./attacker attack userfaultfd", ANY, TRY, ""},
    {"a device", "./attacker attack mknod", ANY, TRUST, ""},
    {"no randomisation", "./attacker attack personality", ANY, TRY, ""},
    {"typing for somebody", "./attacker attack tiocsti", ANY, TRUST, ",\"pty\":true"},
    {"new privileges", "grep -q 'NoNewPrivs:.1' /proc/self/status || echo ESCAPED", ANY, TRY, ""},
    {"capabilities",
     "grep -qE 'Cap(Eff|Prm|Bnd):.*[1-9a-f]' /proc/self/status && test $(id -u) = 0 "
     "&& echo ESCAPED",
     ANY, TRUST, ""},
    {"seccomp is on", "grep -q 'Seccomp:.2' /proc/self/status || echo ESCAPED", ANY, TRY, ""},
    {"core dumps", "test $(ulimit -c) = 0 || echo ESCAPED", ANY, TRUST, ""},
    /* files that have rights outside */
    {"chmod u+s", "cp /bin/true s; chmod 4755 s; test -u s && echo ESCAPED; rm -f s", ANY, TRUST,
     ""},
    {"chmod g+s", "cp /bin/true s; chmod 2755 s; test -g s && echo ESCAPED; rm -f s", ANY, TRUST,
     ""},
    {"install -m", "install -m 6755 /bin/true s; test -u s -o -g s && echo ESCAPED; rm -f s", ANY,
     TRUST, ""},
    {"os.open with a mode",
     "python3 -c \"import os; os.umask(0); os.open('s', os.O_CREAT | os.O_WRONLY, 0o4777)\"; "
     "test -u s && echo ESCAPED; rm -f s",
     ANY, TRUST, ""},
    {"mknod with a mode",
     "python3 -c \"import os, stat; os.mknod('s', stat.S_IFREG | 0o4755)\"; "
     "test -u s && echo ESCAPED; rm -f s",
     ANY, TRUST, ""},
    {"fchmod",
     "python3 -c \"import os; os.fchmod(os.open('s', os.O_CREAT), 0o4755)\"; "
     "test -u s && echo ESCAPED; rm -f s",
     ANY, TRUST, ""},
    {"an archive",
     "python3 -c \"import tarfile, io; t = tarfile.open('t', 'w'); i = tarfile.TarInfo('s'); "
     "i.mode = 0o4755; t.addfile(i, io.BytesIO()); t.close()\"; tar xpf t; "
     "test -u s && echo ESCAPED; rm -f s t",
     ANY, TRUST, ""},
    {"fchmodat2",
     "touch s; python3 -c \"import ctypes; "
     "ctypes.CDLL(None).syscall(452, -100, b's', 0o4755, 0)\"; test -u s && echo ESCAPED; rm -f s",
     ANY, TRUST, ""},
    {"openat2",
     "python3 -c \"import ctypes, struct; h = struct.pack('QQQ', 0o101, 0o4755, 0); "
     "ctypes.CDLL(None).syscall(437, -100, b's', h, len(h))\"; test -u s && echo ESCAPED; rm -f s",
     ANY, TRUST, ""},
    {"a temporary file that is linked",
     "python3 -c \"import os; f = os.open('.', os.O_TMPFILE | os.O_WRONLY, 0o4755); "
     "os.link('/proc/self/fd/%d' % f, 's', follow_symlinks=True)\"; "
     "test -u s && echo ESCAPED; rm -f s",
     ANY, TRUST, ""},
};

static bool is_stopped_here(const struct attack *a) {
    return w.boxed || a->needs == BARE || a->needs == ANY || (a->needs == SCOPE && w.abi >= 6);
}

static void test_attacks(enum box_machine machine) {
    unsigned made = 0, left_out = 0;

    world_open(machine);
    for (size_t i = 0; i < CH_LEN(attacks); i++) {
        const struct attack *a = &attacks[i];
        if (a->needs == BARE && w.boxed) /* the processes of a box may debug each other */
            continue;
        if (!is_stopped_here(a)) {
            left_out++;
            continue;
        }
        if (a->first == TRY) {
            w.policy.mode = CH_SANDBOX_OFF;
            if (!strstr(world_run(a->command, a->more), "ESCAPED"))
                fail_msg("%s: no attack even without a sandbox: %s", a->what, w.k.content);
            w.policy.mode = CH_SANDBOX_AUTO;
            world_was_asked();
            world_put_canaries();
        }
        world_run(a->command, a->more);
        if (strstr(w.k.content, "ESCAPED") || strstr(w.k.content, SENTINEL))
            fail_msg("%s, %s: %s", box_machine_names[machine], a->what, w.k.content);
        world_check_canaries(a->what);
        made++;
    }
    printf("# %s: %u attacks, %u that only namespaces stop\n", box_machine_names[machine], made,
           left_out);
    if (w.boxed)
        assert_int_equal(left_out, 0);
    else
        assert_false(world_layer("namespaces")->ok || world_layer("protected paths")->ok);
    world_close();
}

/* --- protected paths ------------------------------------------------------------ */

static const char *const plant[] = {
    "mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit",
    "echo evil > .git/config",
    "cd .git && echo evil > config",
    "echo evil > .env",
    "echo evil > chela.yaml",
    "mkdir -p .ssh; echo evil > .ssh/authorized_keys",
    "mv .git .git2; mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit",
    "cp -a .git g; mv .git h; mv g .git; echo evil > .git/config",
    "rm -rf .git; mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit",
    "rm -rf .env; echo evil > .env",
    "rmdir .env; echo evil > .env",
    "echo evil > x; mv -f x .env",
    "echo evil > x; ln -f x .env",
    "ln -sfn /tmp .git; echo evil > .git/config",
    "ln -sf x .env; echo evil > x",
    "chmod 777 . .git .env; echo evil > .env",
    "mkdir d; mount --bind d .git; echo evil > .git/config",
    "git init . ; git config core.fsmonitor evil",
    "python3 -c 'import os; os.rename(\".git\", \"g\")'; mkdir .git; echo evil > .git/config",
};

static bool holds(const char *path, const char *text) {
    CH_AUTOFREE char *got = kit_get(&w.k, path);

    return got && strstr(got, text);
}

static void check_planted(const char *command, bool existing) {
    static const char *const paths[] = {".git/hooks/pre-commit", ".git/config", ".env",
                                        "chela.yaml", ".ssh/authorized_keys"};

    for (size_t i = 0; i < CH_LEN(paths); i++)
        if (holds(paths[i], "evil"))
            fail_msg("%s: planted %s", command, paths[i]);
    if (existing && (!holds(".git/config", "mine") || !holds(".git/hooks/pre-commit", "mine") ||
                     !holds(".env", "mine")))
        fail_msg("%s: took what was there", command);
    CH_AUTOFREE char *git = kit_path(&w.k, ".git"), *env = kit_path(&w.k, ".env");
    struct stat st;
    if (!existing && lstat(env, &st) == 0)
        fail_msg("%s: left something behind", command);
    if (!existing) { /* a repository without commands may have been made */
        CH_AUTOFREE char *away = kit_path(&w.k, "../XXXXXX");
        assert_non_null(mkdtemp(away));
        CH_BUF_AUTO to = {0};
        ch_buf_addf(&to, "%s/git", away);
        rename(git, ch_buf_str(&to));
    }
}

/* --- repositories ----------------------------------------------------------------- */

struct made {
    const char *command;
    const char *held; /* a file that was set aside; NULL: none */
    const char *gone; /* a file that must not be there; NULL: none */
};

/* Repositories that a command makes. */
static const struct made made[] = {
    {"git init -q a", NULL, NULL},
    {"git init -q a; git -C a config user.name me; git -C a remote add o https://x/y", NULL, NULL},
    {"git init -q a; git -C a config core.fsmonitor evil", "a/.git/config.held", "a/.git/config"},
    {"git init -q a; git -C a config alias.st '!evil'", "a/.git/config.held", "a/.git/config"},
    {"git init -q a; printf '[core]\\n\\thooksPath = /x' >> a/.git/config", "a/.git/config.held",
     NULL},
    {"git init -q a; printf '[include]\\n\\tpath = ../x\\n' >> a/.git/config",
     "a/.git/config.held", NULL},
    {"git init -q a; printf '[core] fsmonitor = evil\\n' >> a/.git/config", "a/.git/config.held",
     NULL},
    {"git init -q a; printf '[remote \"o\"]\\n\\turl = ext::evil\\n' >> a/.git/config",
     "a/.git/config.held", NULL},
    {"git init -q a; printf '[remote \"o\"]\\n\\tuploadpack = evil\\n' >> a/.git/config",
     "a/.git/config.held", NULL},
    {"git init -q a; printf '[user]\\n name = x\\\\\\n\\n[core]\\n pager=evil\\n' >> a/.git/config",
     "a/.git/config.held", NULL},
    {"git init -q a; cd a/.git; mv config c; ln -s c config", "a/.git/config.held", NULL},
    {"git init -q a; cp -p /bin/true a/.git/hooks/post-checkout", "a/.git/hooks.held",
     "a/.git/hooks"},
    {"git init -q a; rm -r a/.git/hooks; ln -s ../../x a/.git/hooks", "a/.git/hooks.held", NULL},
    {"mkdir -p a/.GIT/hooks; echo x > a/.GIT/hooks/pre-push", "a/.GIT/hooks.held", NULL},
    {"git init -q --bare a; git -C a config core.fsmonitor evil", "a/config.held", "a/config"},
    {"mkdir -p a/b; cd a/b; mkdir objects refs; echo ref: refs/heads/x > HEAD; "
     "echo '[core]fsmonitor=x' > config",
     "a/b/config.held", "a/b/config"},
    {"mkdir a; echo gitdir: /elsewhere > a/.git", "a/.git.held", "a/.git"},
    {"mkdir a; ln -s /elsewhere a/.git", "a/.git.held", "a/.git"},
    {"mkdir -p a/r/objects/x; cd a/r/objects/x; mkdir objects refs; echo ref: refs/heads/x > HEAD; "
     "echo '[core]fsmonitor=x' > config; echo gitdir: r/objects/x > ../../../.git",
     "a/r/objects/x/config.held", "a/r/objects/x/config"},
    {"git init -q a; mkdir -p a/.git/modules/m; cd a/.git/modules/m; mkdir objects refs; "
     "echo ref: refs/heads/x > HEAD; echo '[core]fsmonitor=x' > config",
     "a/.git/modules/m/config.held", "a/.git/modules/m/config"},
    {"git init -q a; echo ../../evil > a/.git/commondir", "a/.git/commondir.held",
     "a/.git/commondir"},
    {"git init -q a; printf '[core]\\n\\tfsmonitor=x\\n' > a/.git/config.worktree",
     "a/.git/config.worktree.held", "a/.git/config.worktree"},
    {"mkdir -p a/node_modules/p; git init -q a/node_modules/p; "
     "git -C a/node_modules/p config core.sshCommand evil",
     "a/node_modules/p/.git/config.held", "a/node_modules/p/.git/config"},
    {"git init -q a; git -C a config core.fsmonitor evil; kill -9 $$", "a/.git/config.held",
     "a/.git/config"},
};

static bool there(const char *path) {
    CH_AUTOFREE char *full = kit_path(&w.k, path);
    struct stat st;

    return lstat(full, &st) == 0;
}

static void move_away(const char *path) {
    CH_AUTOFREE char *from = kit_path(&w.k, path), *away = kit_path(&w.k, "../XXXXXX");
    CH_BUF_AUTO to = {0};

    assert_non_null(mkdtemp(away));
    ch_buf_addf(&to, "%s/x", away);
    assert_int_equal(rename(from, ch_buf_str(&to)), 0);
}

static void test_made(enum box_machine machine) {
    world_open(machine);
    for (size_t i = 0; i < CH_LEN(made); i++) {
        const struct made *m = &made[i];
        world_run(m->command, "");
        bool told = strstr(w.k.content, "was set aside as") != NULL;
        if (told != (m->held != NULL) || (m->held && !there(m->held)) ||
            (m->gone && there(m->gone)))
            fail_msg("%s: %s: %s", box_machine_names[machine], m->command, w.k.content);
        move_away("a");
    }
    world_close();
}

/* What Git executes of a repository that is there, in every form. */
static const char *const exploit[] = {
    "echo x > %s/config",
    "echo x > %s/config.worktree",
    "echo ../x > %s/commondir",
    "rm -f %s/commondir; echo ../x > %s/commondir",
    "mv %s/commondir %s/c; echo ../x > %s/commondir",
    "echo x > %s/hooks/post-checkout",
    "mkdir -p %s/hooks; cp /bin/true %s/hooks/post-checkout",
    "rm -rf %s/hooks; ln -s ../x %s/hooks",
    "mv %s %s.old; cp -a %s.old %s; echo x > %s/config",
    "ln -sf /tmp/x %s/config",
    "git config --file %s/config core.fsmonitor evil",
    "python3 -c \"open('%s/config','a').write('x')\"",
    "exec 3<> %s/config && echo x >&3",
    "truncate -s0 %s/config",
    "cp -a %s q && mount --bind q %s; echo x > %s/config",
};

static void fill_in(const char *format, const char *path, struct ch_buf *out) {
    for (const char *p = format; *p; p++)
        if (p[0] == '%' && p[1] == 's') {
            ch_buf_add_str(out, path);
            p++;
        } else {
            ch_buf_addc(out, *p);
        }
}

static void check_repository(const char *git, const char *command) {
    static const char *const absent[] = {"config.worktree", "commondir", "hooks/post-checkout",
                                         "hooks"};
    CH_BUF_AUTO path = {0};

    ch_buf_addf(&path, "%s/config", git);
    if (!holds(ch_buf_str(&path), "[core]") || holds(ch_buf_str(&path), "x"))
        fail_msg("%s: changed %s", command, ch_buf_str(&path));
    for (size_t i = 0; i < CH_LEN(absent); i++) {
        ch_buf_clear(&path);
        ch_buf_addf(&path, "%s/%s", git, absent[i]);
        if (there(ch_buf_str(&path)))
            fail_msg("%s: made %s", command, ch_buf_str(&path));
    }
}

static void make_repository(const char *git) {
    static const char *const dirs[] = {"", "/objects", "/refs"};
    CH_BUF_AUTO path = {0};

    for (size_t i = 0; i < CH_LEN(dirs); i++) {
        ch_buf_clear(&path);
        ch_buf_addf(&path, "%s%s", git, dirs[i]);
        kit_mkdir(&w.k, ch_buf_str(&path));
    }
    ch_buf_clear(&path);
    ch_buf_addf(&path, "%s/config", git);
    kit_put(&w.k, ch_buf_str(&path), "[core]\n\tbare = false\n");
    ch_buf_clear(&path);
    ch_buf_addf(&path, "%s/HEAD", git);
    kit_put(&w.k, ch_buf_str(&path), "ref: refs/heads/main\n");
}

static void test_repositories(enum box_machine machine) {
    static const char *const places[] = {".git", "deep/er/.git", ".git/modules/a/b", "bare"};

    world_open(machine);
    kit_mkdir(&w.k, "deep");
    kit_mkdir(&w.k, "deep/er");
    make_repository(".git");
    kit_mkdir(&w.k, ".git/modules");
    kit_mkdir(&w.k, ".git/modules/a");
    for (size_t i = 1; i < CH_LEN(places); i++)
        make_repository(places[i]);
    kit_mkdir(&w.k, "tree");
    kit_put(&w.k, "tree/.git", "gitdir: ../.git/modules/a/b\n");
    for (size_t i = 0; w.boxed && i < CH_LEN(places); i++)
        for (size_t j = 0; j < CH_LEN(exploit); j++) {
            CH_BUF_AUTO command = {0};
            fill_in(exploit[j], places[i], &command);
            world_run(ch_buf_str(&command), "");
            check_repository(places[i], ch_buf_str(&command));
        }
    if (w.boxed) {
        world_run("echo gitdir: ../x > tree/.git; rm -f tree/.git; mv tree t", "");
        assert_true(holds("tree/.git", "modules/a/b"));
        world_run("git add deep; "
                  "git -c user.name=a -c user.email=a@b commit --allow-empty -qm x && "
                  "git log --oneline && git status --short && echo fine",
                  "");
        assert_non_null(strstr(w.k.content, "fine"));
    }
    world_close();
}

/* --- files that others execute or obey ----------------------------------------------- */

/* Files that a command makes below the directory a, or b at the top. */
static const struct made left[] = {
    {"mkdir a; echo x > a/.envrc", "a/.envrc.held", "a/.envrc"},
    {"mkdir a; echo x > a/.bashrc", "a/.bashrc.held", "a/.bashrc"},
    {"mkdir -p a/.vscode; echo x > a/.vscode/tasks.json", "a/.vscode.held", "a/.vscode"},
    {"mkdir -p a/.VSCode; echo x > a/.VSCode/tasks.json", "a/.VSCode.held", "a/.VSCode"},
    {"mkdir -p a/c; echo x > a/c/tasks.json; ln -s c a/.vscode", "a/.vscode.held", "a/.vscode"},
    {"mkdir -p a/c; ln -s c a/.config", "a/.config.held", "a/.config"},
    {"mkdir -p a/.config/systemd/user; echo x > a/.config/systemd/user/x.service",
     "a/.config/systemd.held", "a/.config/systemd"},
    {"mkdir -p a/.config/x; echo x > a/.config/x/y", NULL, NULL},
    {"mkdir a; echo x > t; ln t a/.envrc; rm t", "a/.envrc.held", "a/.envrc"},
    {"mkdir a; ln -s /proc/version a/.npmrc", "a/.npmrc.held", "a/.npmrc"},
    {"mkdir -p t/u; echo x > t/u/.envrc; mv t a", "a/u/.envrc.held", "a/u/.envrc"},
    {"mkdir -p a; echo x > a/x.code-workspace", "a/x.code-workspace.held", "a/x.code-workspace"},
    {"mkdir -p a; echo x > a/AGENTS.md", "a/AGENTS.md.held", "a/AGENTS.md"},
    {"mkdir -p a; echo x > a/CLAUDE.md; kill -9 $$", "a/CLAUDE.md.held", "a/CLAUDE.md"},
    {"mkdir -p a/.hg/store; echo x > a/.hg/hgrc", "a/.hg/hgrc.held", "a/.hg/hgrc"},
    /* ordinary work */
    {"mkdir -p a/.hg/store; echo x > a/.hg/store/data", NULL, NULL},
    {"mkdir -p a/.cargo/registry; echo x > a/.cargo/registry/x", NULL, NULL},
    {"mkdir -p a/src; echo x > a/src/main.c; echo x > a/Makefile; echo x > a/package.json", NULL,
     NULL},
    {"mkdir -p a; cp /bin/true a/program; chmod 755 a/program", NULL, NULL},
    {"mkdir -p a; echo x > a/model.pth; echo x > a/app.desktop; echo x > a/tools.md", NULL, NULL},
    {"mkdir -p a/node_modules/p/.vscode; echo x > a/node_modules/p/.vscode/settings.json", NULL,
     NULL},
    {"mkdir -p a/.venv/lib/site-packages; echo x > a/.venv/lib/site-packages/x.pth", NULL, NULL},
    {"mkdir -p a/skills; echo x > a/skills/x", NULL, NULL},
    {"mkdir -p a/.github/workflows; echo x > a/.github/workflows/ci.yml", NULL, NULL},
};

/* Changes of what is there. %s: a file or directory at the top. */
static const char *const rewrite[] = {
    "echo evil > %s",
    "echo evil > %s/tasks.json",
    "rm -rf %s; echo evil > %s",
    "mv %s old; echo evil > %s",
    "rm -rf %s; mkdir %s; echo evil > %s/tasks.json",
    "ln -sf /tmp/x %s",
    "cp -a . /tmp/copy; sed -i s/mine/evil/ %s",
    "truncate -s0 %s",
};

static const struct ch_approvals *unasked(struct ch_approvals **out) {
    struct chela_error err = {0};

    assert_int_equal(ch_approvals_new("exec=auto", NULL, out, &err), 0);
    return *out;
}

static void test_left(enum box_machine machine) {
    struct ch_approvals *rules;

    world_open(machine);
    w.k.opts.approvals = unasked(&rules);
    w.k.opts.ask_means = CH_CONSENT_DENY; /* auto would allow instructions */
    for (size_t i = 0; i < CH_LEN(left); i++) {
        const struct made *m = &left[i];
        world_run(m->command, "");
        bool told = strstr(w.k.content, "was set aside as") != NULL;
        if (told != (m->held != NULL) || (m->held && !there(m->held)) ||
            (m->gone && there(m->gone)))
            fail_msg("%s: %s: %s", box_machine_names[machine], m->command, w.k.content);
        move_away("a");
    }
    /* a file that is there, below the top */
    kit_mkdir(&w.k, "sub");
    kit_put(&w.k, "sub/.envrc", "mine");
    world_run("cat sub/.envrc; touch sub/other", "");
    assert_null(strstr(w.k.content, "was set aside as"));
    /* protected and hidden paths that did not exist */
    world_run("echo x > .env; mkdir .ssh", "");
    assert_non_null(strstr(w.k.content, "[.env was set aside as .env.held: "));
    assert_non_null(strstr(w.k.content, "[.ssh was set aside as .ssh.held: "));
    assert_false(there(".env") || there(".ssh"));
    world_run("echo evil > sub/.envrc", "");
    assert_non_null(strstr(w.k.content, "sub/.envrc was set aside as .envrc.held: direnv"));
    assert_false(there("sub/.envrc"));
    /* instructions are free where the user allowed everything */
    w.k.opts.ask_means = CH_CONSENT_AUTO;
    world_run("echo fine > sub/AGENTS.md; echo fine > AGENTS.md", "");
    assert_true(holds("sub/AGENTS.md", "fine"));
    assert_true(holds("AGENTS.md", "fine"));
    ch_approvals_free(rules);
    w.k.opts.approvals = NULL;
    world_close();
}

/* A tree that cannot be searched stops further commands, until it can be. */
static void test_unsearchable(enum box_machine machine) {
    world_open(machine);
    world_run("python3 -c \"import os\nfor i in range(300): os.mkdir('dddddddddddddddddd'); "
              "os.chdir('dddddddddddddddddd')\"",
              "");
    assert_non_null(strstr(w.k.content, "could not be searched for files that others execute"));
    assert_non_null(strstr(w.k.content, "No further command runs here"));
    world_run("echo x > ran", "");
    assert_true(w.k.is_error);
    assert_string_equal(w.k.error_type, "permission_denied");
    assert_non_null(strstr(w.k.content, "could not be searched"));
    assert_false(there("ran"));
    assert_true(there(".chela-unsearched"));
    kit_mkdir(&w.k, "sub");
    kit_put(&w.k, "sub/.envrc", "of the first command");
    CH_BUF_AUTO command = {0};
    ch_buf_addf(&command, "rm -rf '%s'/ddd*", w.k.workspace);
    assert_int_equal(system(ch_buf_str(&command)), 0);
    world_run("echo x > ran", "");
    assert_false(w.k.is_error);
    assert_true(there("ran"));
    assert_non_null(strstr(w.k.content, "[sub/.envrc was set aside as .envrc.held: "));
    assert_false(there(".chela-unsearched"));
    world_close();
}

/* Programs that read a whole tree work in every workspace: nothing stands in for a protected file
 * that does not exist, and a hidden file reads as an empty one. */
static void test_tree_readers(enum box_machine machine) {
    static const char *const commands[] = {
        "grep -r needle src >/dev/null && grep -rc . . >/dev/null",
        "find . -type f -exec head -c 1 {} + >/dev/null",
        "tar cf \"$TMPDIR/tree.tar\" . && tar tf \"$TMPDIR/tree.tar\" >/dev/null",
        "cp -r . \"$TMPDIR/copy\"",
        "git status --porcelain >/dev/null && git add -A",
        "git -c user.name=a -c user.email=a@b commit -qm all && git log -1 --format=%s >/dev/null",
        "command -v node >/dev/null || exit 0; node --test >/dev/null",
    };
    static const char *const none[] = {".env", ".ssh", "chela.yaml", "commondir"};

    world_open(machine);
    CH_AUTOFREE char *store = kit_path(&w.k, "store.db");
    const char *const hide[] = {store, NULL};
    w.policy.hide = hide;
    kit_mkdir(&w.k, "src");
    kit_put(&w.k, "src/a.txt", "needle");
    kit_put(&w.k, "src/a.test.js", "require('node:test')('adds', () => {});\n");
    world_run("git init -q .", "");
    kit_put(&w.k, "store.db", "s3cret");
    for (size_t i = 0; i < CH_LEN(commands); i++) {
        world_run(commands[i], "");
        /* "[exit code 0, 0.1 s]\n(no output)": nothing on stderr */
        if (!strstr(w.k.content, "[exit code 0,") || !strstr(w.k.content, "(no output)"))
            fail_msg("%s: %s: %s", box_machine_names[machine], commands[i], w.k.content);
    }
    world_run("ls -A . .git", "");
    for (size_t i = 0; i < CH_LEN(none); i++)
        assert_null(strstr(w.k.content, none[i]));
    if (w.boxed) {
        world_run("cat store.db; echo x >> store.db || rm -f store.db || echo CLOSED", "");
        assert_null(strstr(w.k.content, "s3cret"));
        assert_non_null(strstr(w.k.content, "CLOSED"));
        assert_true(holds("store.db", "s3cret"));
    }
    w.policy.hide = NULL;
    world_close();
}

/* What is at the top is read-only. */
static void test_fixed(enum box_machine machine) {
    static const char *const files[] = {".envrc", "AGENTS.md", ".pre-commit-config.yaml",
                                        "mise.toml"};
    struct ch_approvals *rules;

    world_open(machine);
    w.k.opts.approvals = unasked(&rules);
    w.k.opts.ask_means = CH_CONSENT_DENY;
    for (size_t i = 0; i < CH_LEN(files); i++)
        kit_put(&w.k, files[i], "mine");
    kit_mkdir(&w.k, ".vscode");
    kit_put(&w.k, ".vscode/settings.json", "mine");
    kit_mkdir(&w.k, "skills");
    for (size_t i = 0; w.boxed && i < CH_LEN(rewrite); i++) {
        for (size_t j = 0; j < CH_LEN(files); j++) {
            CH_BUF_AUTO command = {0};
            fill_in(rewrite[i], files[j], &command);
            world_run(ch_buf_str(&command), "");
            if (!holds(files[j], "mine"))
                fail_msg("%s", ch_buf_str(&command));
        }
        CH_BUF_AUTO command = {0};
        fill_in(rewrite[i], ".vscode", &command);
        world_run(ch_buf_str(&command), "");
        if (!holds(".vscode/settings.json", "mine") || there(".vscode/tasks.json"))
            fail_msg("%s", ch_buf_str(&command));
    }
    world_run("echo x > skills/x; mkdir skills/y", "");
    if (w.boxed)
        assert_false(there("skills/x") || there("skills/y"));
    ch_approvals_free(rules);
    w.k.opts.approvals = NULL;
    world_close();
}

static void test_protected(enum box_machine machine) {
    world_open(machine);
    for (int existing = 0; existing < 2 && w.boxed; existing++) {
        if (existing) {
            kit_mkdir(&w.k, ".git");
            kit_mkdir(&w.k, ".git/hooks");
            kit_put(&w.k, ".git/hooks/pre-commit", "mine");
            kit_put(&w.k, ".git/config", "mine");
            kit_put(&w.k, ".git/HEAD", "ref: refs/heads/main\n");
            kit_put(&w.k, ".env", "mine");
        }
        for (size_t i = 0; i < CH_LEN(plant); i++) {
            world_run(plant[i], "");
            check_planted(plant[i], existing);
        }
        /* The rest of the workspace, and of .git, is to be worked in. */
        world_run("mkdir -p a/b && echo fine > a/b/c && mv a/b/c a/d && rm -r a/b", "");
        assert_false(w.k.is_error);
        if (existing)
            world_run("echo x > .git/index && mv .git/index .git/index2 && cat .git/config", "");
        assert_false(w.k.is_error);
    }
    /* Links cannot be held: said so, and refused where protection is required. */
    if (w.boxed) {
        CH_AUTOFREE char *ssh = kit_path(&w.k, ".ssh");
        assert_int_equal(symlink("a", ssh), 0);
        world_run("true", "");
        assert_false(w.k.is_error);
        w.policy.mode = CH_SANDBOX_REQUIRED;
        world_run("true", "");
        assert_string_equal(w.k.error_type, "permission_denied");
        assert_non_null(strstr(w.k.content, ".ssh is a symbolic link"));
    } else {
        assert_false(world_layer("protected paths")->ok);
        assert_non_null(strstr(world_layer("protected paths")->why, "needs namespaces"));
    }
    world_close();
}

/* What the operator allows. */
static void test_policy(enum box_machine machine) {
    world_open(machine);
    const char *const paths[] = {w.out, NULL};
    w.policy.readable = paths;
    world_run("cat $OUT/secret; echo x > $OUT/canary || echo READONLY", "");
    assert_non_null(strstr(w.k.content, "s3cret"));
    assert_non_null(strstr(w.k.content, "READONLY"));
    world_check_canaries("readable");
    w.policy.readable = NULL;
    w.policy.writable = paths;
    world_run("echo x > $OUT/new && echo WRITTEN", "");
    assert_non_null(strstr(w.k.content, "WRITTEN"));
    world_put_canaries();
    const char *const protect[] = {"mine", "/nonexistent", w.out, NULL};
    if (w.boxed) { /* protected beats writable, and the list replaces the usual one */
        w.policy.protect = protect;
        w.policy.writable = NULL;
        world_run("echo x > mine/x || echo no; echo y > .env && rm .env && echo FREE", "");
        assert_non_null(strstr(w.k.content, "no\n"));
        assert_non_null(strstr(w.k.content, "FREE"));
    }
    w.policy = (struct ch_sandbox_policy){
        .helper = w.helper, .network = CH_SANDBOX_NET_HOST, .limits.memory = UINT64_MAX};
    world_run("bash -c \"exec 3<>/dev/tcp/127.0.0.1/$TCP_PORT\" && echo CONNECTED; "
              "./attacker attack vsock; ./attacker attack unix $OUT/sock; "
              "./attacker attack unix $NAME; ./attacker attack datagram $OUT/datagram",
              "");
    assert_non_null(strstr(w.k.content, "CONNECTED"));
    assert_null(strstr(w.k.content, "ESCAPED"));
    assert_true(world_was_asked());
    world_close();
}

/* A program of the operator's own, outside of the workspace, and its files. */
static void test_commands(enum box_machine machine) {
    static const struct {
        const char *what, *script, *want;
    } tools[] = {
        {"its own files", "cat; . \"$(dirname \"$0\")/lib.sh\"; lib", "{}lib"},
        {"not the secret", "cat $(dirname $0)/../outside/secret || echo none", "none\n"},
        {"nor the network", "bash -c 'exec 3<>/dev/tcp/127.0.0.1/1' 2>&1 | head -n 1 | grep -c .",
         "1\n"},
    };

    world_open(machine);
    kit_mkdir(&w.k, "../tools");
    kit_put(&w.k, "../tools/lib.sh", "lib() { printf lib; }\n");
    for (size_t i = 0; i < CH_LEN(tools); i++) {
        char name[16], file[32];
        snprintf(name, sizeof(name), "t%zu", i);
        snprintf(file, sizeof(file), "../tools/%s.sh", name);
        kit_put(&w.k, file, tools[i].script);
        CH_AUTOFREE char *path = kit_path(&w.k, file);
        const char *const argv[] = {"sh", path, NULL};
        struct ch_command_opts opts = {.tool = CHELA_TOOL_OPTS(.name = name), .argv = argv};
        assert_int_equal(ch_command_add(&w.k.registry, &opts, NULL), 0);
        kit_call(&w.k, name, "{}");
        if (w.k.is_error || strcmp(w.k.content, tools[i].want) != 0)
            fail_msg("%s: %s", tools[i].what, w.k.content);
    }
    world_close();
}

/* --- modes ---------------------------------------------------------------------- */

static void test_modes(enum box_machine machine) {
    size_t n;

    world_open(machine);
    const struct ch_sandbox_layer *all = ch_sandbox_probe(w.policy.helper, &n);
    assert_int_equal(n, 10);
    for (size_t i = 0; i < n; i++) {
        assert_non_null(all[i].name);
        assert_non_null(all[i].why);
        if (!all[i].ok)
            printf("# %s: no %s: %s\n", box_machine_names[machine], all[i].name, all[i].why);
    }
    assert_ptr_equal(ch_sandbox_probe(w.policy.helper, &n), all); /* asked once */
    w.policy.mode = CH_SANDBOX_REQUIRED;
    world_run("echo ran > ran", "");
    if (w.boxed && world_layer("landlock")->ok && world_layer("seccomp")->ok) {
        assert_false(w.k.is_error);
    } else {
        assert_string_equal(w.k.error_type, "permission_denied");
        assert_non_null(strstr(w.k.content, "lacks a layer of it: namespaces"));
        CH_AUTOFREE char *ran = kit_get(&w.k, "ran");
        assert_null(ran);
    }
    if (machine == BOX_WITHOUT_NAMESPACES)
        assert_false(w.boxed);
    if (machine == BOX_WITH_BWRAP && w.boxed)
        assert_non_null(strstr(world_layer("namespaces")->why, "bubblewrap ("));

    /* Without the program there is no sandbox, and nothing runs. */
    w.policy.helper = "/nonexistent/chela-sandbox";
    world_run("echo ran > ran", "");
    assert_string_equal(w.k.error_type, "permission_denied");
    assert_non_null(strstr(w.k.content, "helper"));
    w.policy.mode = CH_SANDBOX_AUTO;
    world_run("echo ran > unboxed", "");
    assert_string_equal(w.k.error_type, "permission_denied");
    assert_non_null(strstr(w.k.content, "make install"));
    w.policy.mode = CH_SANDBOX_OFF;
    world_run("cat unboxed", "");
    assert_non_null(strstr(w.k.content, "[exit code 1]"));
    world_run("echo x", "");
    assert_false(w.k.is_error);
    assert_non_null(strstr(w.k.details, "\"sandbox\":\"off\""));
    world_close();
}

/* The program's name may be relative to where we are now. */
static void test_relative_helper(void **state) {
    char *here = getcwd(NULL, 0), *dir = ch_strdup(box_helper());

    (void)state;
    *strrchr(dir, '/') = '\0';
    world_open(BOX_AS_IT_IS);
    assert_int_equal(chdir(dir), 0);
    w.policy.helper = "./chela-sandbox";
    world_run("true", "");
    assert_int_equal(chdir(here), 0);
    assert_null(strstr(w.k.details, "\"sandbox\":\"off\""));
    world_close();
    ch_free(dir);
    free(here);
}

/* Where only bwrap stands between them, a command of somebody who is not root
 * has the numbers and the rights of process 1, but not its descriptors: by them
 * it could report an end of its own choice. */
static void test_report_of_init(void **state) {
    char dir[] = "/tmp/chela-report-XXXXXX", place[64], text[4096];
    char *argv[] = {"chela-sandbox", "--outer=bwrap", "--bwrap=/usr/bin/bwrap", place, "--cwd=/tmp",
                    "--", "/bin/sh", "-c", "readlink /proc/1/fd/*; echo tried", NULL};

    (void)state;
    if (access("/usr/bin/bwrap", X_OK) != 0)
        skip();
    assert_non_null(mkdtemp(dir));
    assert_int_equal(chmod(dir, 0777), 0);
    snprintf(place, sizeof(place), "--workspace=%s", dir);
    size_t n = box_run_as_nobody(argv, -1, text, sizeof(text));
    rmdir(dir);
    if (n == 0)
        skip();
    assert_string_equal(text, "tried\n");
}

/* A box that was not tried, because no process could be made, is missing. */
static void test_probe_without_processes(void **state) {
    char *argv[] = {"chela-sandbox", "--probe", NULL}, text[4096];

    (void)state;
    assert_true(box_run_as_nobody(argv, 0, text, sizeof(text)) > 0);
    assert_non_null(strstr(text, "namespaces\tmissing\t"));
}

/* A probe that found no free descriptor is repeated. */
static void test_probe_without_descriptors(void **state) {
    struct rlimit files, few;
    char path[4096]; /* a path that was not probed yet */
    size_t n;

    (void)state;
    snprintf(path, sizeof(path), "/.%s", box_helper());
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    few = files;
    few.rlim_cur = 3;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    bool without = ch_sandbox_probe(path, &n)[0].ok;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
    assert_false(without);
    assert_true(ch_sandbox_probe(path, &n)[0].ok);
}

/* Root works in a directory that belongs to somebody else. */
static void test_foreign_workspace(void **state) {
    (void)state;
    world_open(BOX_AS_IT_IS);
    assert_int_equal(chown(w.k.workspace, 1000, 1000), 0);
    assert_int_equal(chmod(w.k.workspace, 0700), 0);
    world_run("echo x > file && cat file", "");
    assert_false(w.k.is_error);
    world_close();
}

/* --- all of it, on every machine ------------------------------------------------- */

ON_ALL(test_modes)
ON_ALL(test_attacks)
ON_ALL(test_protected)
ON_ALL(test_made)
ON_ALL(test_repositories)
ON_ALL(test_left)
ON_ALL(test_tree_readers)
ON_ALL(test_unsearchable)
ON_ALL(test_fixed)
ON_ALL(test_policy)
ON_ALL(test_commands)

static int run_all(void) {
    const struct CMUnitTest tests[] = {
        TESTS_OF(test_modes),  TESTS_OF(test_attacks),  TESTS_OF(test_protected),
        TESTS_OF(test_made),   TESTS_OF(test_repositories),
        TESTS_OF(test_left),   TESTS_OF(test_tree_readers), TESTS_OF(test_unsearchable),
        TESTS_OF(test_fixed),
        TESTS_OF(test_policy), TESTS_OF(test_commands),
        cmocka_unit_test(test_relative_helper),
        cmocka_unit_test(test_report_of_init),
        cmocka_unit_test(test_probe_without_processes),
        cmocka_unit_test(test_probe_without_descriptors),
        cmocka_unit_test(test_foreign_workspace), /* for root alone, and last */
    };
    size_t n = CH_LEN(tests) - (geteuid() != 0);

    return _cmocka_run_group_tests("sandbox", tests, n, NULL, NULL);
}

int main(int argc, char **argv) {
    return world_main(argc, argv, run_all);
}
