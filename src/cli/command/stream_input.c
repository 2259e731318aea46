/* stream_input.c -- see stream_input.h. */
#include "cli/command/stream_input.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "chela/json.h"
#include "cli/report/out_json.h"
#include "cli/support/draft.h"
#include "cli/support/input.h"
#include "cli/support/mem.h"
#include "cli/support/problem.h"

enum { WAITING_MESSAGES = 64 }; /* lines of type user that wait for their run */

struct ch_stream_input {
    struct ch_console *console; /* borrowed */
    int cancel_fd, stop[2];     /* the thread ends when one of them is readable */
    pthread_t thread;
    char *line; /* owned: the line that is being read; only the thread uses it */
    size_t n, cap;

    pthread_mutex_t lock; /* protects the following members */
    pthread_cond_t changed;
    char *waiting[WAITING_MESSAGES]; /* owned: lines of messages, in order */
    size_t nwaiting;
    chela_run *run;    /* borrowed, or NULL */
    unsigned asked;    /* number of the last question */
    char *answer;      /* owned: the answer to it, or NULL */
    char *reason;      /* owned: text of the last decision */
    char *problem;     /* owned: the first line that is wrong, or NULL */
    unsigned lines;    /* read so far */
    bool closed;       /* nothing more arrives */
};

/* --- lines --------------------------------------------------------------------------------- */

static char *input_get(const char *line, const char *pointer) {
    return chela_json_get(line, strlen(line), pointer, NULL);
}

static bool input_is(const char *text, const char *want) {
    return text && strcmp(text, want) == 0;
}

static void input_reply(struct ch_stream_input *in, const char *id, const char *error) {
    struct ch_draft d;
    ch_draft_init(&d);
    fprintf(d.f, "{\"type\":\"control_response\",\"response\":{\"subtype\":\"%s\",\"request_id\":",
            error ? "error" : "success");
    ch_draft_quote(d.f, id ? id : "");
    if (error) {
        fputs(",\"error\":", d.f);
        ch_draft_quote(d.f, error);
    } else {
        fputs(",\"response\":{}", d.f);
    }
    fputs("}}", d.f);
    ch_draft_finish(&d);
    ch_json_line(in->console, d.p);
    free(d.p);
}

/* A request of the other side. Called with the lock held. */
static void input_request(struct ch_stream_input *in, const char *line) {
    char *id = input_get(line, "/request_id"), *what = input_get(line, "/request/subtype");
    char *error = NULL;
    if (input_is(what, "interrupt")) {
        if (in->run)
            chela_cancel(in->run, "interrupted");
    } else if (!input_is(what, "initialize")) {
        error = ch_format("requests of the type '%s' are not supported; supported: initialize, "
                          "interrupt",
                          what ? what : "");
    }
    input_reply(in, id, error);
    free(error);
    chela_free(id);
    chela_free(what);
}

/* An answer to the last question. Called with the lock held. */
static void input_answer(struct ch_stream_input *in, const char *line) {
    char *id = input_get(line, "/response/request_id");
    char *want = ch_format("req_%u", in->asked);
    if (input_is(id, want) && !in->answer)
        in->answer = input_get(line, "/response");
    free(want);
    chela_free(id);
}

static void input_wrong(struct ch_stream_input *in, const char *what) {
    if (!in->problem)
        in->problem = ch_format("line %u of standard input: %s", in->lines, what);
    in->closed = true;
}

/* Called with the lock held. */
static void input_line(struct ch_stream_input *in, const char *line) {
    char *type = input_get(line, "/type");
    in->lines++;
    if (line[strspn(line, " \t\r")] == '\0') {
        chela_free(type);
        return;
    }
    if (!type)
        input_wrong(in, "not a JSON object with a member type");
    else if (input_is(type, "control_request"))
        input_request(in, line);
    else if (input_is(type, "control_response"))
        input_answer(in, line);
    else if (input_is(type, "user") && in->nwaiting == WAITING_MESSAGES)
        input_wrong(in, "too many messages wait for their run");
    else if (input_is(type, "user"))
        in->waiting[in->nwaiting++] = ch_dup(line);
    else if (!input_is(type, "control_cancel_request") && !input_is(type, "keep_alive"))
        input_wrong(in, "its type is none of user, control_request and control_response");
    chela_free(type);
}

/* --- the thread ----------------------------------------------------------------------------- */

static void input_take(struct ch_stream_input *in, const char *bytes, size_t n) {
    if (in->n + n + 1 > in->cap)
        in->line = ch_must(realloc(in->line, in->cap = (in->n + n + 1) * 2));
    memcpy(in->line + in->n, bytes, n);
    in->n += n;
    in->line[in->n] = '\0';
    char *from = in->line, *end;
    pthread_mutex_lock(&in->lock);
    while (!in->closed && (end = memchr(from, '\n', in->n - (size_t)(from - in->line)))) {
        *end = '\0';
        input_line(in, from);
        from = end + 1;
    }
    in->n -= (size_t)(from - in->line);
    memmove(in->line, from, in->n + 1);
    if (in->n > CH_INPUT_BODY)
        input_wrong(in, "longer than 64 MB");
    pthread_cond_broadcast(&in->changed);
    pthread_mutex_unlock(&in->lock);
}

static bool input_is_closed(struct ch_stream_input *in) {
    pthread_mutex_lock(&in->lock);
    bool closed = in->closed;
    pthread_mutex_unlock(&in->lock);
    return closed;
}

static void *input_read(void *user) {
    struct ch_stream_input *in = user;
    char bytes[65536];
    while (!input_is_closed(in)) {
        struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                               {.fd = in->cancel_fd, .events = POLLIN},
                               {.fd = in->stop[0], .events = POLLIN}};
        if (poll(fds, 3, -1) < 0 && errno == EINTR)
            continue;
        ssize_t n = fds[1].revents || fds[2].revents ? 0 : read(STDIN_FILENO, bytes, sizeof(bytes));
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (n > 0) {
            input_take(in, bytes, (size_t)n);
            continue;
        }
        if (in->n > 0)
            input_take(in, "\n", 1); /* a last line without its end */
        pthread_mutex_lock(&in->lock);
        in->closed = true;
        pthread_cond_broadcast(&in->changed);
        pthread_mutex_unlock(&in->lock);
    }
    return NULL;
}

struct ch_stream_input *ch_stream_input_new(struct ch_console *console, int cancel_fd) {
    struct ch_stream_input *in = ch_must(calloc(1, sizeof(*in)));
    in->console = console;
    in->cancel_fd = cancel_fd;
    pthread_mutex_init(&in->lock, NULL);
    pthread_cond_init(&in->changed, NULL);
    if (pipe(in->stop) < 0) {
        free(in);
        return NULL;
    }
    if (pthread_create(&in->thread, NULL, input_read, in) != 0) {
        close(in->stop[0]);
        close(in->stop[1]);
        free(in);
        return NULL;
    }
    return in;
}

void ch_stream_input_free(struct ch_stream_input *in) {
    if (!in)
        return;
    close(in->stop[1]); /* readable: the thread ends */
    pthread_join(in->thread, NULL);
    close(in->stop[0]);
    while (in->nwaiting > 0)
        free(in->waiting[--in->nwaiting]);
    chela_free(in->answer);
    free(in->reason);
    free(in->problem);
    free(in->line);
    pthread_cond_destroy(&in->changed);
    pthread_mutex_destroy(&in->lock);
    free(in);
}

void ch_stream_input_attach(struct ch_stream_input *in, chela_run *run) {
    if (!in)
        return;
    pthread_mutex_lock(&in->lock);
    in->run = run;
    pthread_mutex_unlock(&in->lock);
}

/* --- messages -------------------------------------------------------------------------------- */

struct content {
    struct ch_stream_message *message;
    struct ch_draft text;
    const char *problem;
};

static void content_add_media(struct content *c, const char *block, size_t n) {
    struct ch_stream_message *m = c->message;
    char *data = chela_json_get(block, n, "/source/data", NULL);
    char *type = chela_json_get(block, n, "/source/media_type", NULL);
    char *url = chela_json_get(block, n, "/source/url", NULL);
    if (m->nmedia == CH_STREAM_MEDIA) {
        c->problem = "more than 20 images and documents";
    } else if (url || (data && type)) {
        char *address = url ? ch_dup(url) : ch_format("data:%s;base64,%s", type, data);
        m->urls[m->nmedia] = address;
        m->media[m->nmedia++] = (struct chela_media){.url = address};
    } else {
        c->problem = "an image without source.url, or without source.data and source.media_type";
    }
    chela_free(data);
    chela_free(type);
    chela_free(url);
}

static int content_block(const char *block, size_t n, void *user) {
    struct content *c = user;
    char *type = chela_json_get(block, n, "/type", NULL);
    char *text = chela_json_get(block, n, "/text", NULL);
    if (input_is(type, "text") && text) {
        fprintf(c->text.f, "%s%s", ftell(c->text.f) > 0 ? "\n" : "", text);
    } else if (input_is(type, "image") || input_is(type, "document")) {
        content_add_media(c, block, n);
    } else {
        c->problem = "a block of message.content that is none of text, image and document";
    }
    chela_free(type);
    chela_free(text);
    return c->problem != NULL;
}

/* A content of blocks, not a text. */
static bool message_has_blocks(const char *line) {
    char *type = input_get(line, "/message/content/0/type");
    chela_free(type);
    return type != NULL;
}

static int message_read(const char *line, struct ch_stream_message *m, struct chela_error *err) {
    char *content = input_get(line, "/message/content");
    struct content c = {.message = m};
    struct ch_draft echo;
    *m = (struct ch_stream_message){0};
    if (!content)
        return ch_problem(err, CHELA_EINVAL,
                          "standard input: a line of type user without message.content");
    ch_draft_init(&c.text);
    ch_draft_init(&echo);
    if (message_has_blocks(line)) {
        chela_json_each(content, strlen(content), content_block, &c);
        fputs(content, echo.f);
    } else {
        fputs(content, c.text.f);
        ch_draft_quote(echo.f, content);
    }
    ch_draft_finish(&c.text);
    ch_draft_finish(&echo);
    chela_free(content);
    m->text = c.text.p;
    m->content = echo.p;
    if (!c.problem && m->text[strspn(m->text, " \t\r\n")] == '\0' && m->nmedia == 0)
        c.problem = "a message without text";
    return c.problem ? ch_problem(err, CHELA_EINVAL, "standard input: %s", c.problem) : 1;
}

void ch_stream_message_release(struct ch_stream_message *m) {
    free(m->text);
    free(m->content);
    for (size_t i = 0; i < m->nmedia; i++)
        free(m->urls[i]);
    *m = (struct ch_stream_message){0};
}

int ch_stream_input_next(struct ch_stream_input *in, struct ch_stream_message *m,
                         struct chela_error *err) {
    char *line = NULL;
    pthread_mutex_lock(&in->lock);
    while (in->nwaiting == 0 && !in->closed)
        pthread_cond_wait(&in->changed, &in->lock);
    if (in->nwaiting > 0) {
        line = in->waiting[0];
        memmove(in->waiting, in->waiting + 1, --in->nwaiting * sizeof(in->waiting[0]));
    }
    char *problem = !line && in->problem ? ch_dup(in->problem) : NULL;
    pthread_mutex_unlock(&in->lock);
    int rc = problem ? ch_problem(err, CHELA_EINVAL, "%s", problem) : 0;
    if (line)
        rc = message_read(line, m, err);
    free(problem);
    free(line);
    return rc;
}

/* --- approvals -------------------------------------------------------------------------------- */

static void input_ask(struct ch_stream_input *in, const struct chela_approval *a) {
    char *arguments = chela_json_get(a->arguments.p, a->arguments.n, "", NULL);
    struct ch_draft d;
    ch_draft_init(&d);
    fprintf(d.f,
            "{\"type\":\"control_request\",\"request_id\":\"req_%u\",\"request\":{\"subtype\":"
            "\"can_use_tool\",\"tool_name\":",
            in->asked);
    char *name = ch_format("%.*s", (int)a->name.n, a->name.p);
    char *id = ch_format("%.*s", (int)a->id.n, a->id.p);
    char *summary = ch_format("%.*s", (int)a->summary.n, a->summary.p);
    ch_draft_quote(d.f, name);
    fprintf(d.f, ",\"input\":%s,\"tool_use_id\":",
            arguments && *arguments == '{' ? arguments : "{}");
    ch_draft_quote(d.f, id);
    fputs(",\"description\":", d.f);
    ch_draft_quote(d.f, summary);
    fputs("}}", d.f);
    ch_draft_finish(&d);
    ch_json_line(in->console, d.p);
    free(d.p);
    free(name);
    free(id);
    free(summary);
    chela_free(arguments);
}

/* The answer allows the call; other arguments than those of the call replace them. */
static void input_allow(struct ch_stream_input *in, const char *answer, struct chela_approval *a) {
    char *now = input_get(answer, "/response/updatedInput");
    char *was = chela_json_get(a->arguments.p, a->arguments.n, "", NULL);
    a->decision = CHELA_ALLOW_ONCE;
    if (now && *now == '{' && !input_is(was, now)) {
        free(in->reason);
        in->reason = ch_dup(now);
        a->decision = CHELA_EDIT;
        a->reason = in->reason;
    }
    chela_free(now);
    chela_free(was);
}

static enum chela_flow input_decide(struct ch_stream_input *in, const char *answer,
                                    struct chela_approval *a) {
    char *behavior = input_get(answer, "/response/behavior");
    char *interrupt = input_get(answer, "/response/interrupt");
    char *message = input_get(answer, "/response/message");
    if (!message)
        message = input_get(answer, "/error");
    bool halt = input_is(interrupt, "true");
    if (input_is(behavior, "allow")) {
        input_allow(in, answer, a);
    } else {
        free(in->reason);
        in->reason = message ? ch_dup(message) : NULL;
        a->decision = CHELA_DENY;
        a->reason = in->reason;
    }
    chela_free(behavior);
    chela_free(interrupt);
    chela_free(message);
    return halt ? CHELA_HALT : CHELA_GO;
}

enum chela_flow ch_stream_input_approve(struct ch_stream_input *in, chela_run *run,
                                        struct chela_approval *a) {
    (void)run;
    pthread_mutex_lock(&in->lock);
    in->asked++;
    bool closed = in->closed;
    if (!closed)
        input_ask(in, a);
    while (!in->answer && !in->closed)
        pthread_cond_wait(&in->changed, &in->lock);
    char *answer = in->answer;
    in->answer = NULL;
    pthread_mutex_unlock(&in->lock);
    enum chela_flow flow = answer ? input_decide(in, answer, a) : CHELA_GO;
    chela_free(answer);
    return flow;
}
