/* boxworld.c -- see boxworld.h. */
#include "support/boxworld.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
/* cmocka.h needs the headers above */
#include <cmocka.h>

#include "base/mem.h"
#include "tool/builtin/builtin.h"
#include "tool/process/sandbox_probe.h"

#define NOBODY 65534

struct world w;

/* --- the attacker: this program, copied into the workspace ------------------- */

static int connect_unix(const char *path) {
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    bool abstract = path[0] == '@';

    snprintf(a.sun_path + abstract, sizeof(a.sun_path) - abstract, "%s", path + abstract);
    socklen_t n = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path) + !abstract);
    return fd < 0 ? -1 : connect(fd, (struct sockaddr *)&a, n);
}

/* A datagram through a socket that the call `socket` did not make. */
static int send_by_pair(const char *path) {
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int pair[2];

    snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) < 0)
        return -1;
    return (int)sendto(pair[0], "x", 1, 0, (struct sockaddr *)&a, sizeof(a));
}

/* Set a limit of another process to its value. */
static int set_limit_of(pid_t pid) {
    struct rlimit now;

    if (syscall(SYS_prlimit64, pid, RLIMIT_CPU, NULL, &now) < 0)
        return -1;
    return (int)syscall(SYS_prlimit64, pid, RLIMIT_CPU, &now, NULL);
}

static int read_a_child(void) {
    char secret[8] = "secret", got[8] = "";
    struct iovec local = {got, sizeof(got)}, remote = {secret, sizeof(secret)};
    pid_t pid = fork();

    if (pid == 0) {
        pause();
        _exit(0);
    }
    long n = syscall(SYS_process_vm_readv, pid, &local, 1, &remote, 1, 0);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    return n > 0 && strcmp(got, "secret") == 0 ? 0 : -1;
}

static int reach(const char *what, const char *arg) {
    char uring[256] = {0};

    if (strcmp(what, "ptrace") == 0)
        return (int)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    if (strcmp(what, "ptrace-pid") == 0)
        return (int)ptrace(PTRACE_ATTACH, atoi(arg), NULL, NULL);
    if (strcmp(what, "vm-read") == 0)
        return read_a_child();
    if (strcmp(what, "mount") == 0)
        return mount("none", "/tmp", "tmpfs", 0, NULL);
    if (strcmp(what, "remount") == 0)
        return mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL);
    if (strcmp(what, "umount") == 0)
        return umount2(arg, MNT_DETACH);
    if (strcmp(what, "unshare") == 0)
        return unshare(CLONE_NEWUSER);
    if (strcmp(what, "chroot") == 0)
        return chroot("..");
    if (strcmp(what, "keyring") == 0)
        return (int)syscall(SYS_add_key, "user", "chela-test", "x", 1, -3 /* session */);
    if (strcmp(what, "keyring-read") == 0)
        return (int)syscall(SYS_keyctl, 0 /* id */, -4 /* user */, 1);
    if (strcmp(what, "io_uring") == 0)
        return (int)syscall(SYS_io_uring_setup, 4, uring);
    if (strcmp(what, "bpf") == 0)
        return (int)syscall(SYS_bpf, 0, (uint32_t[32]){1, 4, 4, 1}, 72); /* a map */
    if (strcmp(what, "userfaultfd") == 0)
        return (int)syscall(SYS_userfaultfd, 1);
    if (strcmp(what, "vsock") == 0)
        return socket(AF_VSOCK, SOCK_STREAM, 0);
    if (strcmp(what, "packet") == 0)
        return socket(AF_PACKET, SOCK_RAW, 0);
    if (strcmp(what, "unix") == 0)
        return connect_unix(arg);
    if (strcmp(what, "datagram") == 0)
        return send_by_pair(arg);
    if (strcmp(what, "kill") == 0)
        return kill(atoi(arg), 0);
    if (strcmp(what, "prlimit") == 0)
        return set_limit_of(atoi(arg));
    if (strcmp(what, "shm") == 0)
        return shmat(atoi(arg), NULL, SHM_RDONLY) == (void *)-1 ? -1 : 0;
    if (strcmp(what, "tiocsti") == 0)
        return ioctl(0, TIOCSTI, "x");
    if (strcmp(what, "mknod") == 0)
        return mknod("node", S_IFBLK | 0600, 0x100);
    if (strcmp(what, "personality") == 0)
        return personality(ADDR_NO_RANDOMIZE);
    return -1;
}

static void attack_main(int argc, char **argv) {
    if (argc < 3 || strcmp(argv[1], "attack") != 0)
        return;
    bool in = reach(argv[2], argc > 3 ? argv[3] : "") >= 0;
    if (in)
        printf("ESCAPED\n");
    else
        printf("%s: %s\n", argv[2], strerror(errno));
    fflush(stdout);
    _exit(0);
}

/* --- what is outside ------------------------------------------------------------ */

static int listen_on(int type, char *port, size_t n) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(a);
    int fd = socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    if (type == SOCK_STREAM)
        assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
    snprintf(port, n, "%u", (unsigned)ntohs(a.sin_port));
    return fd;
}

static int listen_unix(int type, const char *path) {
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    bool abstract = path[0] == '@';

    snprintf(a.sun_path + abstract, sizeof(a.sun_path) - abstract, "%s", path + abstract);
    socklen_t n = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path) + !abstract);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, n), 0);
    if (type == SOCK_STREAM)
        assert_int_equal(listen(fd, 8), 0);
    return fd;
}

/* Returns whether any server was contacted, and resets the record. */
bool world_was_asked(void) {
    char byte[64];
    bool asked = recv(w.udp, byte, sizeof(byte), 0) >= 0;
    asked |= recv(w.datagram, byte, sizeof(byte), 0) >= 0;

    for (int i = 0; i < 3; i++) {
        int fd = accept(i == 0 ? w.tcp : i == 1 ? w.sock : w.abstract, NULL, NULL);
        asked |= fd >= 0;
        if (fd >= 0)
            close(fd);
    }
    return asked;
}

void world_put_canaries(void) {
    char path[256];

    kit_put(&w.k, "../outside/canary", "untouched");
    kit_put(&w.k, "../outside/secret", "s3cret");
    snprintf(path, sizeof(path), "%s/canary", w.out);
    chmod(path, 0644);
    snprintf(path, sizeof(path), "%s/new", w.out);
    unlink(path);
}

void world_check_canaries(const char *what) {
    CH_AUTOFREE char *canary = kit_get(&w.k, "../outside/canary");
    struct stat st;
    char path[256];

    snprintf(path, sizeof(path), "%s/canary", w.out);
    if (!canary || strcmp(canary, "untouched") != 0 || stat(path, &st) < 0 ||
        (st.st_mode & 07777) != 0644 || st.st_nlink != 1)
        fail_msg("%s: the canary was touched", what);
    if (kit_entries(&w.k, "../outside") != 4) /* canary, secret, sockets */
        fail_msg("%s: something was left outside", what);
    if (world_was_asked())
        fail_msg("%s: a server was asked", what);
}

static void copy_attacker(void) {
    CH_AUTOFREE char *to = kit_path(&w.k, "attacker");
    int in = open("/proc/self/exe", O_RDONLY), out = open(to, O_WRONLY | O_CREAT, 0755);
    char chunk[65536];
    ssize_t n;

    while ((n = read(in, chunk, sizeof(chunk))) > 0)
        assert_int_equal(write(out, chunk, (size_t)n), n);
    close(in);
    close(out);
}

const struct ch_sandbox_layer *world_layer(const char *name) {
    size_t n;
    const struct ch_sandbox_layer *all = ch_sandbox_probe(w.policy.helper, &n);

    for (size_t i = 0; i < n; i++)
        if (strcmp(all[i].name, name) == 0)
            return &all[i];
    fail_msg("there is no layer %s", name);
    return NULL;
}

void world_open(enum box_machine machine) {
    struct chela_error err = {0};

    memset(&w, 0, sizeof(w));
    kit_init(&w.k);
    chmod(w.k.dir, 0755);
    kit_mkdir(&w.k, "../outside");
    w.out = kit_path(&w.k, "../outside");
    w.helper = ch_strdup(box_helper_for(machine));
    w.policy.helper = w.helper;
    /* Sanitizers map more memory than any limit allows. */
    w.policy.limits.memory = UINT64_MAX;
    w.k.opts.sandbox = &w.policy;
    assert_int_equal(ch_builtin_add_with(&w.k.registry, NULL, "exec", NULL, &err), 0);
    CH_AUTOFREE char *path = kit_path(&w.k, "../outside/sock");
    CH_AUTOFREE char *datagram = kit_path(&w.k, "../outside/datagram");
    w.tcp = listen_on(SOCK_STREAM, w.port, sizeof(w.port));
    w.udp = listen_on(SOCK_DGRAM, w.udp_port, sizeof(w.udp_port));
    w.sock = listen_unix(SOCK_STREAM, path);
    w.datagram = listen_unix(SOCK_DGRAM, datagram);
    snprintf(w.abstract_name, sizeof(w.abstract_name), "@%s", strrchr(w.k.dir, '/') + 1);
    w.abstract = listen_unix(SOCK_STREAM, w.abstract_name);
    w.shm = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
    assert_true(w.shm >= 0);
    w.terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(w.terminal >= 0 && grantpt(w.terminal) == 0 && unlockpt(w.terminal) == 0);
    world_put_canaries();
    copy_attacker();
    w.boxed = world_layer("namespaces")->ok;
    w.limited = world_layer("processes")->ok;
    sscanf(world_layer("landlock")->why, "ABI %d", &w.abi);
}

void world_close(void) {
    close(w.tcp);
    close(w.udp);
    close(w.sock);
    close(w.datagram);
    close(w.abstract);
    close(w.terminal);
    shmctl(w.shm, IPC_RMID, NULL);
    ch_free(w.helper);
    ch_free(w.out);
    kit_free(&w.k);
}

void world_arguments(struct ch_buf *out, const char *command, const char *more) {
    ch_buf_add_str(out, "{\"command\":\"");
    for (const char *p = command; *p; p++) {
        if (*p == '"' || *p == '\\')
            ch_buf_addc(out, '\\');
        if (*p == '\n')
            ch_buf_add_str(out, "\\n");
        else
            ch_buf_addc(out, *p);
    }
    ch_buf_addf(
        out,
        "\",\"env\":{\"OUT\":\"%s\",\"TCP_PORT\":\"%s\",\"UDP_PORT\":\"%s\",\"NAME\":\"%s\","
        "\"RUNTIME\":\"%d\",\"SHM\":\"%d\",\"TERMINAL\":\"%s\"}%s}",
        w.out, w.port, w.udp_port, w.abstract_name, (int)getpid(), w.shm, ptsname(w.terminal),
        more);
}

const char *world_run(const char *command, const char *more) {
    CH_BUF_AUTO arguments = {0};

    world_arguments(&arguments, command, more);
    return kit_call(&w.k, "exec", ch_buf_str(&arguments));
}

bool world_is_running(const char *mark) {
    CH_BUF_AUTO command = {0};

    ch_buf_addf(&command, "grep -lzxF %s /proc/[0-9]*/cmdline >/dev/null 2>&1", mark);
    return system(ch_buf_str(&command)) == 0;
}

void world_wait_until_gone(const char *what, const char *mark) {
    for (int i = 0; i < 1000; i++) {
        if (!world_is_running(mark))
            return;
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    fail_msg("%s: still running", what);
}

/* --- main ---------------------------------------------------------------------- */

/* Start the same tests again, concurrently, as a user without rights; the output is kept for
 * later. If that user cannot read the build tree, the tests are skipped. */
static pid_t start_as_nobody(char **argv, FILE *out) {
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    setenv("HOME", "/nonexistent", 1);
    if (dup2(fileno(out), 1) < 0 || dup2(1, 2) < 0 || setgroups(0, NULL) < 0 ||
        setgid(NOBODY) < 0 || setuid(NOBODY) < 0)
        _exit(1);
    if (access(box_helper(), X_OK) < 0 || access("/proc/self/exe", R_OK) < 0) {
        printf("1..1\nok 1 - as nobody # SKIP the build tree is closed to other users\n");
        fflush(stdout);
        _exit(0);
    }
    execv("/proc/self/exe", argv);
    _exit(1);
}

static int end_as_nobody(pid_t pid, FILE *out) {
    int status = 1;

    waitpid(pid, &status, 0);
    rewind(out);
    for (int c; (c = getc(out)) != EOF;)
        putchar(c);
    fclose(out);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int world_main(int argc, char **argv, int (*tests)(void)) {
    box_main(argc, argv);
    attack_main(argc, argv);
    signal(SIGPIPE, SIG_IGN);
    if (!getenv("CHELA_TEST_SENTINEL")) { /* /proc/PID/environ shows the variables passed to exec */
        setenv("CHELA_TEST_SENTINEL", SENTINEL, 1);
        execv("/proc/self/exe", argv);
    }
    FILE *out = geteuid() == 0 ? tmpfile() : NULL;
    pid_t nobody = out ? start_as_nobody(argv, out) : 0;
    int failed = tests();
    fflush(stdout);
    return failed + (out ? end_as_nobody(nobody, out) : 0);
}
