/* input.c -- see input.h. */
#include "cli/support/input.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/support/mem.h"
#include "cli/support/problem.h"

enum { PATIENCE_MS = 3000 };

struct source {
    int fd;
    const char *name; /* for messages */
    int cancel_fd;
    void (*waiting)(void *user);
    void *user;
};

/* Wait until input is readable. */
static int wait_readable(struct source *src, struct chela_error *err) {
    for (;;) {
        struct pollfd fds[] = {{.fd = src->fd, .events = POLLIN},
                               {.fd = src->cancel_fd, .events = POLLIN}};
        int n = poll(fds, 2, src->waiting ? PATIENCE_MS : -1);
        if (n == 0) {
            src->waiting(src->user);
            src->waiting = NULL;
        } else if (n > 0 && fds[1].revents) {
            return ch_problem(err, CHELA_ECANCELED, "cancelled");
        } else if (n > 0 || errno != EINTR) {
            return CHELA_OK; /* read() will report the error */
        }
    }
}

static int input_drain(struct source *src, size_t max, struct ch_cli_input *in,
                       struct chela_error *err) {
    size_t cap = 0;
    for (;;) {
        if (in->n + 1 >= cap) {
            cap = cap ? cap * 2 : 64 * 1024;
            in->p = ch_must(realloc(in->p, cap));
        }
        int rc = wait_readable(src, err);
        if (rc < 0)
            return rc;
        ssize_t got = read(src->fd, in->p + in->n, cap - in->n - 1);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (got < 0)
            return ch_problem(err, CHELA_EIO, "cannot read %s: %s", src->name, strerror(errno));
        if (got == 0)
            break;
        in->n += (size_t)got;
        if (in->n > max)
            return ch_problem(err, CHELA_ELIMIT, "%s is larger than %zu MB", src->name, max >> 20);
    }
    in->p[in->n] = '\0';
    return CHELA_OK;
}

static int read_source(struct source *src, size_t max, struct ch_cli_input *out,
                       struct chela_error *err) {
    struct ch_cli_input in = {0};
    int rc = input_drain(src, max, &in, err);
    if (rc < 0)
        ch_input_release(&in);
    else
        *out = in;
    return rc;
}

int ch_input_stdin(size_t max, int cancel_fd, void (*waiting)(void *user), void *user,
                   struct ch_cli_input *out, struct chela_error *err) {
    struct source src = {.fd = STDIN_FILENO,
                         .name = "standard input",
                         .cancel_fd = cancel_fd,
                         .waiting = waiting,
                         .user = user};
    return read_source(&src, max, out, err);
}

int ch_input_file(const char *path, size_t max, struct ch_cli_input *out, struct chela_error *err) {
    if (strcmp(path, "-") == 0)
        return ch_input_stdin(max, -1, NULL, NULL, out, err);
    struct source src = {.name = path, .cancel_fd = -1};
    src.fd = open(path, O_RDONLY | O_CLOEXEC);
    if (src.fd < 0)
        return ch_problem(err, CHELA_EIO, "cannot read %s: %s", path, strerror(errno));
    int rc = read_source(&src, max, out, err);
    close(src.fd);
    return rc;
}

bool ch_input_piped(void) {
    struct stat st;
    return fstat(STDIN_FILENO, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISREG(st.st_mode));
}

int ch_input_text(const char *text, size_t max, struct ch_cli_input *out, struct chela_error *err) {
    if (*text == '@')
        return ch_input_file(text + 1, max, out, err);
    *out = (struct ch_cli_input){.p = ch_dup(text), .n = strlen(text)};
    return CHELA_OK;
}

void ch_input_release(struct ch_cli_input *in) {
    free(in->p);
    *in = (struct ch_cli_input){0};
}
