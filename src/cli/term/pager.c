/* pager.c -- shows long listings on a terminal page by page.
 *
 * The pager is PAGER, else less with git's default flags (quit if the text fits one screen,
 * keep the text shown). The pager gets safe text. Without a pager the text is printed
 * directly. */
#include "cli/term/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/term/console.h"
#include "cli/support/mem.h"

extern char **environ;

static bool is_long(const struct ch_console *c, const char *p, size_t n) {
    unsigned rows = ch_term_rows(&c->out);
    for (const char *end = p + n; rows > 0 && (p = memchr(p, '\n', (size_t)(end - p))); p++)
        rows--;
    return rows == 0;
}

/* The environment with LESS, unless the user has set it. The caller frees the array. */
static char **pager_env(void) {
    static char less[] = "LESS=FRX";
    size_t n = 0;
    bool set = false;

    while (environ[n])
        set |= strncmp(environ[n++], "LESS=", 5) == 0;
    char **copy = ch_must(calloc(n + 2, sizeof(*copy)));
    memcpy(copy, environ, n * sizeof(*copy));
    if (!set)
        copy[n] = less;
    return copy;
}

/* The write end of the pipe; -1: the pager cannot be started. */
static int pager_start(const char *pager, pid_t *pid) {
    char *argv[] = {(char[]){"sh"}, (char[]){"-c"}, ch_dup(pager), NULL};
    posix_spawn_file_actions_t actions;
    int ends[2];
    int rc = pipe2(ends, O_CLOEXEC);

    if (rc == 0) {
        char **env = pager_env();
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
        rc = posix_spawn(pid, "/bin/sh", &actions, NULL, argv, env);
        posix_spawn_file_actions_destroy(&actions);
        free(env);
        close(ends[0]);
        if (rc != 0)
            close(ends[1]);
    }
    free(argv[2]);
    return rc == 0 ? ends[1] : -1;
}

/* Ctrl-C is left to the pager, and quitting the pager early is no failure. False: the
 * program does not exist. */
static bool pager_feed(int fd, pid_t pid, const char *p, size_t n) {
    enum { NOT_FOUND = 127 }; /* exit code of a shell */
    struct sigaction ignore = {.sa_handler = SIG_IGN}, interrupt, broken;
    int status = 0;

    sigaction(SIGINT, &ignore, &interrupt);
    sigaction(SIGPIPE, &ignore, &broken);
    while (n > 0) {
        ssize_t wrote = write(fd, p, n);
        if (wrote < 0 && errno != EINTR)
            break;
        p += wrote > 0 ? wrote : 0;
        n -= wrote > 0 ? (size_t)wrote : 0;
    }
    close(fd);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    sigaction(SIGINT, &interrupt, NULL);
    sigaction(SIGPIPE, &broken, NULL);
    return !WIFEXITED(status) || WEXITSTATUS(status) != NOT_FOUND;
}

void ch_console_page(struct ch_console *c, const char *p, size_t n) {
    pid_t pid;
    int fd = c->out.live && c->pager && is_long(c, p, n) ? pager_start(c->pager, &pid) : -1;

    if (fd < 0) {
        ch_console_print(c, p, n);
        return;
    }
    size_t len;
    char *safe = ch_escape_whole(CH_ESCAPE_TEXT, p, n, &len);
    if (!pager_feed(fd, pid, safe, len))
        ch_console_print(c, p, n);
    free(safe);
}
