/* screen.c -- see screen.h.
 *
 * The cursor is always in row `row` of the foot. A terminal that becomes narrower wraps
 * lines that no longer fit, so the rows between the cursor and the top of the foot are
 * recomputed from the widths of the lines. */
#include "cli/term/screen.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/support/mem.h"
#include "cli/term/term.h"

#define BEGIN "\033[?2026h\033[?25l" /* begin a synchronized update; hide the cursor */
#define END "\033[?25h\033[?2026l"
#define PASTE_ON "\033[?2004h"
#define PASTE_OFF "\033[?2004l"

unsigned ch_screen_columns(const char *line) {
    unsigned columns = 0;
    while (*line) {
        size_t n = strcspn(line, "\033");
        columns += ch_term_text_columns(line, n);
        line += n;
        if (*line) {
            line += strcspn(line, "m");
            line += *line != '\0';
        }
    }
    return columns;
}

static void screen_send(struct ch_screen *s, const char *p, size_t n) {
    while (n > 0) {
        ssize_t w = write(s->fd, p, n);
        if (w > 0) {
            p += w;
            n -= (size_t)w;
        } else if (w < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            poll(&(struct pollfd){.fd = s->fd, .events = POLLOUT}, 1, -1);
        } else if (w < 0 && errno != EINTR) {
            return; /* the terminal is gone; reading will report it */
        }
    }
}

static void screen_measure(struct ch_screen *s) {
    struct winsize ws;
    bool known = ioctl(s->fd, TIOCGWINSZ, &ws) == 0;
    s->columns = known && ws.ws_col > 0 ? ws.ws_col : 80;
    s->rows = known && ws.ws_row > 0 ? ws.ws_row : 24;
}

/* --- the terminal ------------------------------------------------------------------- */

static void forget_foot(struct ch_screen *s) {
    for (size_t i = 0; i < s->n; i++)
        free(s->foot[i]);
    free(s->foot);
    s->foot = NULL;
    s->n = s->row = 0;
    s->column = 0;
}

void ch_screen_enter(struct ch_screen *s) {
    struct termios raw = s->before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG | IEXTEN);
    raw.c_iflag &= ~(tcflag_t)(IXON | ICRNL | INLCR | ISTRIP);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    s->raw = tcsetattr(s->fd, TCSADRAIN, &raw) == 0;
    screen_send(s, PASTE_ON, sizeof(PASTE_ON) - 1);
    screen_measure(s);
    forget_foot(s); /* another program may have moved the cursor */
}

bool ch_screen_open(struct ch_screen *s, int fd) {
    *s = (struct ch_screen){.fd = fd};
    if (tcgetattr(fd, &s->before) < 0)
        return false;
    ch_draft_init(&s->above);
    ch_screen_enter(s);
    return true;
}

void ch_screen_leave(struct ch_screen *s) {
    if (!s->raw)
        return;
    ch_screen_draw(s, NULL, 0, 0, 0);
    screen_send(s, PASTE_OFF, sizeof(PASTE_OFF) - 1);
    tcsetattr(s->fd, TCSADRAIN, &s->before);
    s->raw = false;
}

void ch_screen_close(struct ch_screen *s) {
    ch_screen_leave(s);
    forget_foot(s);
    if (s->above.f) {
        ch_draft_finish(&s->above);
        free(s->above.p);
    }
    *s = (struct ch_screen){.fd = -1};
}

/* --- drawing ------------------------------------------------------------------------ */

static size_t rows_of(const struct ch_screen *s, size_t line) {
    unsigned columns = ch_screen_columns(s->foot[line]);
    return columns > s->columns ? (columns + s->columns - 1) / s->columns : 1;
}

static void to_top(const struct ch_screen *s, FILE *out) {
    size_t up = 0;
    for (size_t i = 0; i < s->row; i++)
        up += rows_of(s, i);
    if (s->row < s->n && rows_of(s, s->row) > 1)
        up += s->column / s->columns;
    fputc('\r', out);
    if (up > 0)
        fprintf(out, "\033[%zuA", up);
}

void ch_screen_resize(struct ch_screen *s) {
    struct ch_draft d;

    screen_measure(s);
    ch_draft_init(&d);
    fputs(BEGIN, d.f);
    to_top(s, d.f);
    fputs("\033[J", d.f);
    ch_draft_finish(&d);
    screen_send(s, d.p, d.n);
    free(d.p);
    forget_foot(s);
}

void ch_screen_wipe(struct ch_screen *s) {
    static const char wipe[] = "\033[H\033[2J";
    screen_send(s, wipe, sizeof(wipe) - 1);
    forget_foot(s);
}

/* Erases line by line, because some terminals move text that is erased at once into their
 * scrollback. The cursor is at the top of the foot, before and after. */
static void erase_foot(const struct ch_screen *s, FILE *out) {
    size_t rows = 0;
    for (size_t i = 0; i < s->n; i++)
        rows += rows_of(s, i);
    for (size_t i = 0; i < rows; i++)
        fputs(i ? "\r\n\033[K" : "\033[K", out);
    if (rows > 1)
        fprintf(out, "\033[%zuA", rows - 1);
    fputc('\r', out);
}

FILE *ch_screen_above(struct ch_screen *s) {
    return s->above.f;
}

static void put_above(struct ch_screen *s, FILE *out) {
    ch_draft_finish(&s->above);
    if (s->above.n > 0) {
        erase_foot(s, out);
        forget_foot(s);
        fwrite(s->above.p, 1, s->above.n, out);
        if (s->above.p[s->above.n - 1] != '\n')
            fputc('\n', out);
    }
    free(s->above.p);
    ch_draft_init(&s->above);
}

static void put_foot(const struct ch_screen *s, FILE *out, char *const *lines, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            fputs("\r\n", out);
        if (i >= s->n || strcmp(lines[i], s->foot[i]) != 0)
            fprintf(out, "\033[K%s\033[0m", lines[i]);
    }
    if (n > 0 && n < s->n)
        fputs("\r\n\033[J\033[A", out);
    else if (n == 0)
        erase_foot(s, out);
}

static void keep_foot(struct ch_screen *s, char *const *lines, size_t n) {
    forget_foot(s);
    s->foot = n ? ch_must(calloc(n, sizeof(*s->foot))) : NULL;
    for (size_t i = 0; i < n; i++)
        s->foot[i] = ch_dup(lines[i]);
    s->n = n;
}

void ch_screen_draw(struct ch_screen *s, char *const *lines, size_t n, size_t row,
                    unsigned column) {
    struct ch_draft d;

    ch_draft_init(&d);
    fputs(BEGIN, d.f);
    to_top(s, d.f);
    put_above(s, d.f);
    put_foot(s, d.f, lines, n);
    if (n > row + 1)
        fprintf(d.f, "\033[%zuA", n - 1 - row);
    fputc('\r', d.f);
    if (column > 0)
        fprintf(d.f, "\033[%uC", column);
    fputs(END, d.f);
    ch_draft_finish(&d);
    screen_send(s, d.p, d.n);
    free(d.p);
    keep_foot(s, lines, n);
    s->row = row;
    s->column = column;
}
