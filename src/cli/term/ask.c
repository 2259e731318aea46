/* ask.c -- see ask.h.
 *
 * Input typed before the question was shown is discarded. There is no default; a line that
 * is neither yes nor no repeats the question. The end of input is a no; Ctrl-C ends the
 * run. */
#include "cli/term/ask.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "chela/json.h"
#include "cli/support/draft.h"

void ch_asker_open(struct ch_asker *a, struct ch_console *console, struct ch_signals *signals) {
    a->console = console;
    a->choice = NULL;
    a->tty = -1;
    if (console->err.tty)
        a->tty = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
    a->own = a->tty >= 0 && !signals ? ch_signals_new() : NULL;
    a->signals = a->own ? a->own : signals;
}

void ch_asker_close(struct ch_asker *a) {
    if (a->tty >= 0)
        close(a->tty);
    a->tty = -1;
    ch_signals_free(a->own);
    a->own = a->signals = NULL;
    chela_free(a->choice);
    a->choice = NULL;
}

/* --- the answer ------------------------------------------------------------------- */

static const struct {
    const char *word;
    enum chela_decision means;
} answers[] = {
    {"o", CHELA_ALLOW_ONCE},   {"once", CHELA_ALLOW_ONCE}, {"y", CHELA_ALLOW_ONCE},
    {"yes", CHELA_ALLOW_ONCE}, {"a", CHELA_ALLOW_ALWAYS},  {"always", CHELA_ALLOW_ALWAYS},
    {"n", CHELA_DENY},         {"no", CHELA_DENY},         {"d", CHELA_DENY},
    {"deny", CHELA_DENY},     {"e", CHELA_EDIT},         {"edit", CHELA_EDIT},
    {"r", CHELA_ANSWER},      {"result", CHELA_ANSWER},  {"t", CHELA_TAKE_OVER},
    {"take", CHELA_TAKE_OVER},
};

bool ch_answer_read(char *answer, bool can_remember, enum chela_decision *out,
                    const char **reason) {
    answer += strspn(answer, " \t");
    size_t n = strcspn(answer, " \t,:");
    char *rest = answer + n + strspn(answer + n, " \t,:");

    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        if (strlen(answers[i].word) != n || strncasecmp(answers[i].word, answer, n) != 0)
            continue;
        *out = answers[i].means;
        *reason = rest;
        bool takes_text = *out >= CHELA_EDIT;
        bool yes = *out == CHELA_ALLOW_ONCE || *out == CHELA_ALLOW_ALWAYS;
        return !(yes && *rest) && !(takes_text && !*rest) &&
               (can_remember || *out != CHELA_ALLOW_ALWAYS);
    }
    return false;
}

/* --- the terminal ------------------------------------------------------------------- */

enum heard { LINE, NOTHING, INTERRUPTED, LEFT };

/* Read one line, without its line end. The rest of a longer line is discarded. */
static enum heard listen(struct ch_asker *a) {
    struct pollfd fds[] = {{.fd = a->tty, .events = POLLIN},
                           {.fd = ch_signals_fd(a->signals), .events = POLLIN}};
    char *line = a->line;
    size_t n = 0;

    while (n < CH_ANSWER_MAX - 1) {
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            return NOTHING;
        if (fds[1].revents)
            return ch_signals_left(a->signals) ? LEFT : INTERRUPTED;
        if (!fds[0].revents)
            continue;
        ssize_t got = read(a->tty, line + n, CH_ANSWER_MAX - 1 - n);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (got <= 0)
            return NOTHING;
        n += (size_t)got;
        char *end = memchr(line, '\n', n);
        if (!end)
            continue;
        *end = '\0';
        return LINE;
    }
    line[0] = '\0'; /* too long */
    return LINE;
}

/* True in the foreground: a background process would be stopped when it reads the terminal. */
static bool in_foreground(const struct ch_asker *a) {
    pid_t front = tcgetpgrp(a->tty);

    return front < 0 || front == getpgrp();
}

static void ask_question(struct ch_asker *a, const struct chela_approval *approval, bool again) {
    struct ch_draft d;

    ch_draft_init(&d);
    if (!again)
        fprintf(d.f, "\nThe agent asks to run\n%.*s\n", (int)approval->summary.n,
                approval->summary.p);
    fprintf(d.f, "Allow? [o]nce%s, [n]o, or no and why; [e]dit ARGUMENTS, [r]esult TEXT, "
                 "[t]ake over TEXT: ",
            approval->can_remember ? ", [a]lways exactly this" : "");
    ch_draft_finish(&d);
    ch_console_ask(a->console, d.p, d.n);
    free(d.p);
}

/* --- asking ----------------------------------------------------------------------------- */

enum chela_flow ch_asker_approve(chela_run *run, struct chela_approval *approval, void *user) {
    struct ch_asker *a = user;
    enum heard heard = LINE;
    (void)run;

    if (!in_foreground(a))
        return CHELA_GO; /* undecided: the run pauses */
    for (bool again = false; heard == LINE; again = true) {
        tcflush(a->tty, TCIFLUSH);
        ask_question(a, approval, again);
        heard = listen(a);
        ch_console_asked(a->console, heard == LINE);
        if (heard == LINE &&
            ch_answer_read(a->line, approval->can_remember, &approval->decision, &approval->reason))
            return CHELA_GO;
        approval->decision = CHELA_UNDECIDED;
    }
    if (heard == INTERRUPTED)
        return CHELA_HALT;
    approval->decision = heard == LEFT ? CHELA_UNDECIDED : CHELA_DENY;
    return CHELA_GO;
}

/* --- questions of the model --------------------------------------------------------- */

static char *choice_at(const char *arguments, size_t len, size_t i) {
    char pointer[40];

    snprintf(pointer, sizeof(pointer), "/choices/%zu", i);
    char *text = chela_json_get(arguments, len, pointer, NULL);
    if (text)
        return text;
    snprintf(pointer, sizeof(pointer), "/options/%zu", i);
    return chela_json_get(arguments, len, pointer, NULL);
}

void ch_question_write(FILE *out, const char *arguments, size_t len) {
    static const char *const names[] = {"/question", "/prompt", "/message"};
    char *text = NULL, *choice;

    for (size_t i = 0; !text && i < sizeof(names) / sizeof(names[0]); i++)
        text = chela_json_get(arguments, len, names[i], NULL);
    fprintf(out, "The agent asks: %s\n", text ? text : "");
    for (size_t i = 0; (choice = choice_at(arguments, len, i)); i++) {
        fprintf(out, "  %zu. %s\n", i + 1, choice);
        chela_free(choice);
    }
    chela_free(text);
}

char *ch_question_choice(const char *arguments, size_t len, const char *line) {
    char *end;
    unsigned long n = strtoul(line, &end, 10);
    return end != line && *end == '\0' && n > 0 ? choice_at(arguments, len, n - 1) : NULL;
}

static void show_question(struct ch_asker *a, const char *arguments, size_t len) {
    struct ch_draft d;

    ch_draft_init(&d);
    fputc('\n', d.f);
    ch_question_write(d.f, arguments, len);
    fputs("Your answer: ", d.f);
    ch_draft_finish(&d);
    ch_console_ask(a->console, d.p, d.n);
    free(d.p);
}

static const char *chosen(struct ch_asker *a, const char *arguments, size_t len) {
    chela_free(a->choice);
    a->choice = ch_question_choice(arguments, len, a->line);
    return a->choice ? a->choice : a->line;
}

const char *ch_asker_question(struct ch_asker *a, const char *arguments, size_t len,
                              bool *interrupted) {
    *interrupted = false;
    if (!in_foreground(a))
        return NULL;
    tcflush(a->tty, TCIFLUSH);
    for (;;) {
        show_question(a, arguments, len);
        enum heard heard = listen(a);
        ch_console_asked(a->console, heard == LINE);
        *interrupted = heard == INTERRUPTED;
        if (heard != LINE)
            return NULL;
        if (a->line[strspn(a->line, " \t\r")])
            return chosen(a, arguments, len);
    }
}

/* --- questions of the program ----------------------------------------------------------- */

const char *ch_asker_line(struct ch_asker *a, const char *text) {
    if (!in_foreground(a))
        return NULL;
    tcflush(a->tty, TCIFLUSH);
    ch_console_ask(a->console, text, strlen(text));
    enum heard heard = listen(a);
    ch_console_asked(a->console, heard == LINE);
    return heard == LINE ? a->line : NULL;
}

const char *ch_asker_secret(struct ch_asker *a, const char *text) {
    struct termios was, now;
    bool hides = tcgetattr(a->tty, &was) == 0;
    now = was;
    now.c_lflag &= ~(tcflag_t)ECHO;
    if (hides)
        tcsetattr(a->tty, TCSANOW, &now);
    const char *line = ch_asker_line(a, text);
    if (hides)
        tcsetattr(a->tty, TCSANOW, &was);
    return line;
}
