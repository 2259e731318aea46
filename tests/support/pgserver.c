/* pgserver.c -- see pgserver.h. The server is a child of the test, and dies with it. Each of
 * its processes has its own session, so the processes are found by their parent. */
#include "support/pgserver.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/free_port.h"

#define START_MS 30000
#define FAMILY_MAX 64

static bool find_bin(char *out, size_t n) {
    static const char *const places[] = {"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin",
                                         "/usr/libexec/postgresql*", "/usr/bin"};
    for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
        glob_t found;
        if (glob(places[i], 0, NULL, &found) != 0)
            continue;
        for (size_t k = found.gl_pathc; k-- > 0;) {
            char path[256];
            snprintf(path, sizeof(path), "%s/initdb", found.gl_pathv[k]);
            if (access(path, X_OK) != 0)
                continue;
            snprintf(out, n, "%s", found.gl_pathv[k]);
            globfree(&found);
            return true;
        }
        globfree(&found);
    }
    return false;
}

bool pgserver_installed(void) {
    char bin[128];
    return find_bin(bin, sizeof(bin));
}

static const struct passwd *other_user(void) {
    const struct passwd *pw = getpwnam("postgres");
    return pw ? pw : getpwnam("nobody");
}

/* In the child: changes to a user other than root, discards output, and dies with the test. */
static void become(const char *dir) {
    int fd = open("/dev/null", O_RDWR);
    const struct passwd *pw = geteuid() == 0 ? other_user() : NULL;
    if (pw && (setgroups(0, NULL) < 0 || setgid(pw->pw_gid) < 0 || setuid(pw->pw_uid) < 0))
        _exit(126);
    prctl(PR_SET_PDEATHSIG, SIGQUIT);
    if (chdir(dir) < 0)
        _exit(126);
    dup2(fd, 0);
    int log = open("log", O_WRONLY | O_CREAT | O_APPEND, 0600);
    dup2(log, 1);
    dup2(log, 2);
}

/* The programs of PostgreSQL look for each other beside argv[0]. */
static pid_t spawn(struct pgserver *s, const char **argv) {
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", s->bin, argv[0]);
    argv[0] = path;
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    become(s->dir);
    execv(path, (char **)argv);
    _exit(127);
}

static void show_log(struct pgserver *s, const char *what) {
    char path[256], text[2000];
    snprintf(path, sizeof(path), "%s/log", s->dir);
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
    if (f)
        fclose(f);
    fprintf(stderr, "# PostgreSQL: %s failed: %.*s\n", what, (int)n, text);
}

/* Waits until the server accepts connections and answers. */
static bool wait_ready(struct pgserver *s) {
    char answer[16];
    for (int ms = 0; ms < START_MS; ms += 50) {
        pgserver_sql(s, "SELECT 42", answer, sizeof(answer));
        if (strcmp(answer, "42") == 0)
            return true;
        if (waitpid(s->pid, NULL, WNOHANG) == s->pid) {
            s->pid = 0;
            break;
        }
        poll(NULL, 0, 50);
    }
    show_log(s, "starting");
    return false;
}

bool pgserver_start(struct pgserver *s) {
    char port[16];
    snprintf(port, sizeof(port), "%d", s->port);
    s->pid = spawn(s, (const char *[]){"postgres", "-D", s->data, "-h", "127.0.0.1", "-p",
                                            port, "-k", s->dir, "-c", "shared_buffers=1MB", "-c",
                                            "max_connections=20", "-c", "fsync=off", NULL});
    return wait_ready(s);
}

static bool make_cluster(struct pgserver *s) {
    char pwfile[200], arg[220];
    int status = 0;
    snprintf(pwfile, sizeof(pwfile), "%s/pw", s->dir);
    snprintf(arg, sizeof(arg), "--pwfile=%s", pwfile);
    FILE *f = fopen(pwfile, "w");
    fprintf(f, "%s\n", PGSERVER_PASSWORD);
    fclose(f);
    const struct passwd *pw = geteuid() == 0 ? other_user() : NULL;
    if (pw && (chown(s->dir, pw->pw_uid, pw->pw_gid) < 0 ||
               chown(pwfile, pw->pw_uid, pw->pw_gid) < 0))
        return false;
    pid_t pid = spawn(s, (const char *[]){"initdb", "-D", s->data, "-U", "chela", "-E",
                                               "UTF8", "--no-locale", "--no-sync",
                                               "--auth-local=trust", "--auth-host=scram-sha-256",
                                               arg, NULL});
    waitpid(pid, &status, 0);
    if (status != 0)
        show_log(s, "initdb");
    return status == 0;
}

bool pgserver_open(struct pgserver *s) {
    const char *tmp = getenv("TMPDIR");
    *s = (struct pgserver){0};
    if (!find_bin(s->bin, sizeof(s->bin)))
        return false;
    snprintf(s->dir, sizeof(s->dir), "%s/pg-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(s->dir))
        return false;
    snprintf(s->data, sizeof(s->data), "%s/data", s->dir);
    s->port = free_port();
    return make_cluster(s) && pgserver_start(s);
}

void pgserver_sql(struct pgserver *s, const char *sql, char *out, size_t n) {
    char port[16], path[256];
    int fds[2];
    out[0] = '\0';
    if (pipe(fds) < 0)
        return;
    snprintf(port, sizeof(port), "%d", s->port);
    snprintf(path, sizeof(path), "%s/psql", s->bin);
    pid_t pid = fork();
    if (pid == 0) {
        become(s->dir);
        dup2(fds[1], 1);
        close(fds[0]);
        close(fds[1]);
        execl(path, path, "-X", "-q", "-A", "-t", "-h", s->dir, "-p", port, "-U", "chela", "-d",
              "postgres", "-c", sql, (char *)NULL);
        _exit(127);
    }
    close(fds[1]);
    size_t at = 0;
    ssize_t got;
    while (at < n - 1 && (got = read(fds[0], out + at, n - 1 - at)) > 0)
        at += (size_t)got;
    out[at] = '\0';
    out[strcspn(out, "\n")] = '\0';
    close(fds[0]);
    waitpid(pid, NULL, 0);
}

/* --- all of its processes -------------------------------------------------------- */

/* 0: no such process, or only a zombie. */
static pid_t parent_of(const char *pid) {
    char path[300], text[512];
    long parent = 0;
    snprintf(path, sizeof(path), "/proc/%s/stat", pid);
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
    if (f)
        fclose(f);
    text[n] = '\0';
    const char *at = strrchr(text, ')');
    if (at && strlen(at) > 4 && at[2] != 'Z')
        parent = strtol(at + 4, NULL, 10);
    return (pid_t)parent;
}

static size_t family(const struct pgserver *s, pid_t *out) {
    size_t n = 0;
    DIR *d = opendir("/proc");
    out[n++] = s->pid;
    for (struct dirent *e; d && (e = readdir(d)) && n < FAMILY_MAX;)
        if (isdigit((unsigned char)e->d_name[0]) && parent_of(e->d_name) == s->pid)
            out[n++] = (pid_t)strtol(e->d_name, NULL, 10);
    closedir(d);
    return n;
}

static void tell_all(struct pgserver *s, int sig) {
    pid_t pids[FAMILY_MAX];
    kill(s->pid, SIGSTOP); /* so that no new processes start */
    for (size_t n = family(s, pids); n-- > 0;)
        kill(pids[n], sig);
}

void pgserver_freeze(struct pgserver *s) {
    tell_all(s, SIGSTOP);
}

void pgserver_thaw(struct pgserver *s) {
    tell_all(s, SIGCONT);
}

static bool is_there(pid_t pid) {
    char name[24];
    snprintf(name, sizeof(name), "%ld", (long)pid);
    return parent_of(name) != 0;
}

void pgserver_kill(struct pgserver *s) {
    pid_t pids[FAMILY_MAX];
    kill(s->pid, SIGSTOP);
    size_t n = family(s, pids);
    for (size_t i = n; i-- > 0;)
        kill(pids[i], SIGKILL);
    waitpid(s->pid, NULL, 0);
    for (size_t i = 1; i < n; i++)
        for (int ms = 0; is_there(pids[i]) && ms < 5000; ms += 20)
            poll(NULL, 0, 20);
    s->pid = 0;
}

static void remove_tree(const char *dir) {
    pid_t pid = fork();
    if (pid == 0) {
        execlp("rm", "rm", "-rf", dir, (char *)NULL);
        _exit(127);
    }
    waitpid(pid, NULL, 0);
}

void pgserver_close(struct pgserver *s) {
    if (s->pid) {
        kill(s->pid, SIGINT); /* "fast": disconnects all clients */
        for (int ms = 0; ms < 10000 && waitpid(s->pid, NULL, WNOHANG) == 0; ms += 20)
            poll(NULL, 0, 20);
    }
    if (s->dir[0])
        remove_tree(s->dir);
}
