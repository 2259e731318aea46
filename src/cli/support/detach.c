/* detach.c -- see detach.h. */
#include "cli/support/detach.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/support/draft.h"
#include "cli/support/problem.h"
#include "cli/support/state_path.h"

enum { PART = 200 }; /* bytes of a file name; file systems allow 255 */

/* The path of the log; NULL: HOME is not set. Different keys have different paths: a byte of
 * the key that a file name should not have becomes %XX. "+/" divides a long name. */
static char *detach_log(const struct ch_env *env, const char *key) {
    char *directory = ch_state_path(env, "background/");
    struct ch_draft d;
    size_t n = 0;
    if (!directory)
        return NULL;
    ch_draft_init(&d);
    fputs(directory, d.f);
    free(directory);
    for (; *key; key++) {
        unsigned char c = (unsigned char)*key;
        if (n >= PART && (c & 0xC0) != 0x80) { /* not in the middle of a character */
            fputs("+/", d.f);
            n = 0;
        }
        n += (size_t)fprintf(d.f, c >= 0x80 || isalnum(c) || strchr("._-", c) ? "%c" : "%%%02X",
                             c);
    }
    fputs(".log", d.f);
    ch_draft_finish(&d);
    return d.p;
}

static void detach_close(int *fd) {
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void ch_detach_release(struct ch_detach *d) {
    detach_close(&d->file);
    detach_close(&d->says);
    detach_close(&d->begun[0]);
    detach_close(&d->begun[1]);
    free(d->log);
    d->log = NULL;
}

/* A terminal is not kept; a pipe or file may have the prompt. */
static void detach_child(struct ch_detach *d, int says) {
    int null = isatty(STDIN_FILENO) ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;
    setsid();
    if (null >= 0)
        dup2(null, STDIN_FILENO);
    dup2(d->file, STDOUT_FILENO);
    dup2(says, STDERR_FILENO);
    if (null >= 0)
        close(null);
    close(says);
    detach_close(&d->says);
    detach_close(&d->begun[0]);
}

int ch_detach(struct ch_detach *d, const struct ch_env *env, const char *key,
              struct chela_error *err) {
    int says[2] = {-1, -1};
    *d = (struct ch_detach){.file = -1, .says = -1, .begun = {-1, -1}};
    d->log = detach_log(env, key);
    if (!d->log)
        return ch_problem(err, CHELA_EINVAL, "a run in the background needs HOME for its log");
    int rc = ch_state_make_parents(d->log, err);
    if (rc < 0)
        return rc;
    d->file = open(d->log, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (d->file < 0)
        return ch_problem(err, CHELA_EIO, "%s: %s", d->log, strerror(errno));
    if (pipe2(d->begun, O_CLOEXEC) < 0 || pipe2(says, O_CLOEXEC) < 0 || (d->pid = fork()) < 0) {
        rc = ch_problem(err, CHELA_EIO, "no process can be started: %s", strerror(errno));
        detach_close(&says[0]);
        detach_close(&says[1]);
        return rc;
    }
    d->says = says[0];
    if (d->pid == 0) {
        detach_child(d, says[1]);
    } else {
        close(says[1]);
        detach_close(&d->begun[1]);
    }
    return CHELA_OK;
}

void ch_detach_begun(struct ch_detach *d) {
    int null = d->begun[1] < 0 ? -1 : open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (d->begun[1] < 0)
        return;
    if (write(d->begun[1], "", 1) < 0) {
        /* the old process was ended, so no process waits */
    }
    detach_close(&d->begun[1]);
    dup2(d->file, STDERR_FILENO);
    if (null >= 0) {
        dup2(null, STDIN_FILENO);
        close(null);
    }
}

bool ch_detach_wait(struct ch_detach *d, int *code) {
    char bytes[4096];
    int status = 0;
    ssize_t n;
    while ((n = read(d->says, bytes, sizeof(bytes))) > 0 || (n < 0 && errno == EINTR))
        if (n > 0 && write(STDERR_FILENO, bytes, (size_t)n) < 0)
            break;
    do
        n = read(d->begun[0], bytes, 1);
    while (n < 0 && errno == EINTR);
    if (n == 1)
        return true;
    while (waitpid(d->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    *code = WIFEXITED(status) ? WEXITSTATUS(status) : CH_EXIT_ERROR;
    return false;
}
