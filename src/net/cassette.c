/* cassette.c -- see cassette.h.
 *
 * Recording: each call wraps a call of the inner transport, keeps its data, and
 * writes one line when it ends, however it ends. A line is one write to a local
 * file, done on the loop thread.
 *
 * Replaying: the file is read once. A request matches the first equal recorded
 * request that is not used yet, so concurrent calls may come in any order and a
 * retry gets the second answer. Head, pieces of the body and end are then
 * delivered, one per iteration. A handler may cancel its call from any
 * callback: a call inside a callback is freed when the callback returns. */
#include "net/cassette.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/error.h"
#include "base/file.h"
#include "base/list.h"
#include "base/log.h"
#include "json/writer.h"
#include "net/tape.h"

static const char header[] = "{\"chela_cassette\":1}\n";

struct exchange {
    const struct ch_json *request, *response, *error;
    unsigned line;
    bool used;
};

struct ch_cassette {
    struct ch_transport transport;
    struct ch_loop *loop;
    char *path;
    struct ch_tape_words words;
    struct ch_list calls;
    /* recording */
    struct ch_transport *inner;
    int fd;
    bool broken; /* a line could not be written; logged once */
    /* playing */
    struct ch_arena arena;
    struct ch_buf text;
    struct exchange *exchanges; /* owned array */
    size_t n;
    unsigned requests;
};

struct ch_http_call {
    struct ch_link link;
    struct ch_cassette *owner;
    const struct ch_http_handler *handler;
    void *user;
    struct ch_buf request; /* the "request" object, as on the tape */
    /* recording */
    struct ch_transport *reached; /* of inner */
    struct ch_http_call *inner;
    struct ch_buf headers, body;
    int status;
    /* playing */
    struct ch_task task;
    const struct exchange *exchange;
    enum { FIND, HEAD, BODY, END } state;
    const struct ch_json *piece;
    bool in_callback, dead;
};

static void cassette_call_free(struct ch_http_call *call) {
    ch_task_cancel(call->owner->loop, &call->task);
    ch_list_del(&call->link);
    ch_buf_release(&call->request);
    ch_buf_release(&call->headers);
    ch_buf_release(&call->body);
    ch_free(call);
}

static struct ch_http_call *call_new(struct ch_cassette *c, const struct ch_http_request *req,
                                     const struct ch_http_handler *handler, void *user) {
    struct ch_http_call *call = ch_alloc(sizeof(*call));
    call->owner = c;
    call->handler = handler;
    call->user = user;
    ch_tape_request(&c->words, req, &call->request);
    ch_list_add(&c->calls, &call->link);
    return call;
}

/* --- recording */

/* A line that does not fit is taken back, so that the lines before can be played. */
static void cassette_write_line(struct ch_cassette *c, struct ch_sv line) {
    off_t start = c->broken ? -1 : lseek(c->fd, 0, SEEK_CUR);
    while (line.n && !c->broken) {
        ssize_t n = write(c->fd, line.p, line.n);
        if (n > 0) {
            line = ch_sv(line.p + n, line.n - (size_t)n);
        } else if (n == 0 || errno != EINTR) {
            const char *why = n < 0 ? strerror(errno) : "cannot be written";
            bool torn = start < 0 || ftruncate(c->fd, start) < 0;
            ch_log(CH_LOG_WARN, "cassette", "%s: %s: nothing more is recorded%s", c->path, why,
                   torn ? ", and the last line is not whole" : "");
            c->broken = true;
        }
    }
}

static void write_exchange(struct ch_http_call *call, const struct chela_error *err,
                           bool cancelled) {
    CH_BUF_AUTO line = {0};
    struct ch_jw w = ch_jw(&line);
    ch_jw_begin(&w, '{');
    ch_jw_kraw(&w, "request", ch_buf_sv(&call->request));
    if (call->status) {
        ch_jw_key(&w, "response");
        ch_tape_response(&call->owner->words, call->status, ch_buf_sv(&call->headers),
                         ch_buf_sv(&call->body), &line);
        w.comma = true;
    }
    if (err) {
        ch_jw_kbegin(&w, "error", '{');
        ch_jw_kcstr(&w, "code", chela_error_name(err->code));
        ch_jw_kcstr(&w, "message", err->message);
        ch_jw_end(&w, '}');
    }
    if (cancelled)
        ch_jw_kbool(&w, "cancelled", true);
    ch_jw_end(&w, '}');
    ch_buf_addc(&line, '\n');
    if (call->body.overflow || line.overflow)
        ch_log(CH_LOG_WARN, "cassette", "%s: an answer is too large and was not recorded",
               call->owner->path);
    else
        cassette_write_line(call->owner, ch_buf_sv(&line));
}

/* The handler is called last, since it may cancel the call. */
static void record_head(const struct ch_http_head *head, void *user) {
    struct ch_http_call *call = user;
    call->status = head->status;
    ch_tape_headers(head, &call->headers);
    if (call->handler->on_head)
        call->handler->on_head(head, call->user);
}

static void record_data(struct ch_sv data, void *user) {
    struct ch_http_call *call = user;
    ch_buf_add_sv(&call->body, data);
    call->handler->on_data(data, call->user);
}

static void record_done(const struct chela_error *err, void *user) {
    struct ch_http_call *call = user;
    const struct ch_http_handler *handler = call->handler;
    void *client = call->user;
    write_exchange(call, err, false);
    cassette_call_free(call);
    handler->on_done(err, client);
}

static struct ch_http_call *record_start(struct ch_transport *t, const struct ch_http_request *req,
                                         const struct ch_http_handler *handler, void *user) {
    static const struct ch_http_handler recorder = {record_head, record_data, record_done};
    struct ch_cassette *c = CH_CONTAINER(t, struct ch_cassette, transport);
    struct ch_http_call *call = call_new(c, req, handler, user);
    ch_buf_init(&call->body, CH_LIMIT_CASSETTE_BODY);
    call->reached = c->inner;
    call->inner = ch_transport_start(c->inner, req, &recorder, call);
    return call;
}

static void record_cancel(struct ch_transport *t, struct ch_http_call *call) {
    (void)t;
    ch_transport_cancel(call->reached, call->inner);
    write_exchange(call, NULL, true);
    cassette_call_free(call);
}

/* --- replaying */

static void cassette_finish(struct ch_http_call *call, const struct chela_error *err) {
    const struct ch_http_handler *handler = call->handler;
    void *client = call->user;
    cassette_call_free(call);
    handler->on_done(err, client);
}

static int mismatch(const struct ch_cassette *c, const struct ch_json *now,
                    struct chela_error *err) {
    CH_BUF_AUTO why = {0};
    for (size_t i = 0; i < c->n; i++) {
        if (c->exchanges[i].used)
            continue;
        ch_tape_same(c->exchanges[i].request, now, &why);
        return ch_fail(err, CHELA_EINVAL, "replay: request %u is not the one of %s:%u: %s",
                       c->requests, c->path, c->exchanges[i].line, ch_buf_str(&why));
    }
    if (c->n == 0)
        return ch_fail(err, CHELA_EINVAL,
                       "replay: %s holds no recorded call: its run called no model service",
                       c->path);
    return ch_fail(err, CHELA_EINVAL, "replay: request %u, but %s holds no more than %zu",
                   c->requests, c->path, c->n);
}

static int cassette_match(struct ch_http_call *call, struct chela_error *err) {
    struct ch_cassette *c = call->owner;
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *now;
    c->requests++;
    int rc = ch_json_parse(&arena, ch_buf_sv(&call->request), CH_JSON_STRICT, &now, NULL, err);
    for (size_t i = 0; rc == 0 && i < c->n; i++) {
        if (c->exchanges[i].used || !ch_tape_same(c->exchanges[i].request, now, NULL))
            continue;
        c->exchanges[i].used = true;
        call->exchange = &c->exchanges[i];
        return 0;
    }
    return rc < 0 ? rc : mismatch(c, now, err);
}

/* Restore a recorded error. */
static void cassette_read_error(const struct ch_json *e, struct chela_error *err) {
#define ROW(name, value, text) {"CHELA_" #name, CHELA_##name}, {#name, CHELA_##name},
    static const struct {
        const char *name;
        int code;
    } codes[] = {CHELA_ERRORS(ROW)};
#undef ROW
    struct ch_sv code = ch_json_get_str(e, "code"), message = ch_json_get_str(e, "message");
    int rc = CHELA_ENET;
    for (size_t i = 0; i < CH_LEN(codes); i++)
        if (ch_sv_is(code, codes[i].name))
            rc = codes[i].code;
    ch_fail(err, rc, "%.*s", CH_SV_FMT(message));
}

/* False: the callback ended the call. */
static bool cassette_leave_callback(struct ch_http_call *call) {
    call->in_callback = false;
    if (!call->dead)
        return true;
    cassette_call_free(call);
    return false;
}

static void play_head(struct ch_http_call *call) {
    const struct ch_json *response = call->exchange->response;
    const struct ch_json *headers = ch_json_get(response, "headers");
    struct ch_header list[CH_LIMIT_HTTP_HEADER_COUNT];
    struct ch_http_head head = {.status = (int)ch_json_int(ch_json_get(response, "status"), 200),
                                .headers = list};
    for (CH_JSON_MEMBERS(k, v, headers))
        if (head.nheaders < CH_LEN(list))
            list[head.nheaders++] = (struct ch_header){ch_json_str(k), ch_json_str(v)};
    const struct ch_json *body = ch_json_get(response, "body");
    call->piece = ch_json_is(body, CH_JSON_ARRAY) && body->n ? body + 1 : NULL;
    call->state = BODY;
    if (call->handler->on_head)
        call->handler->on_head(&head, call->user);
}

static void play_text(struct ch_http_call *call, struct ch_sv text) {
    CH_BUF_AUTO shown = {0};
    ch_tape_show(&call->owner->words, text, &shown);
    call->handler->on_data(ch_buf_sv(&shown), call->user);
}

static void play_body(struct ch_http_call *call) {
    const struct ch_json *body = ch_json_get(call->exchange->response, "body");
    const struct ch_json *piece = call->piece;
    CH_BUF_AUTO bytes = {0};
    CH_BUF_AUTO shown = {0};
    if (piece) {
        call->piece = ch_json_next(piece);
        if (call->piece == ch_json_next(body))
            call->piece = NULL;
        call->state = call->piece ? BODY : END;
        play_text(call, ch_json_str(piece));
        return;
    }
    call->state = END;
    if (!ch_base64_read(ch_json_get_str(body, "base64"), &bytes) || !bytes.n)
        return;
    ch_tape_show_bytes(&call->owner->words, ch_buf_sv(&bytes), &shown);
    call->handler->on_data(ch_buf_sv(&shown), call->user);
}

static void play_end(struct ch_http_call *call) {
    struct chela_error err = {0};
    const struct ch_json *e = call->exchange->error;
    if (e)
        cassette_read_error(e, &err);
    cassette_finish(call, e ? &err : NULL);
}

static void cassette_step(struct ch_task *task) {
    struct ch_http_call *call = CH_CONTAINER(task, struct ch_http_call, task);
    struct chela_error err = {0};
    if (call->state == FIND) {
        if (cassette_match(call, &err) < 0) {
            cassette_finish(call, &err);
            return;
        }
        call->state = call->exchange->response ? HEAD : END;
    }
    if (call->state == END) {
        play_end(call);
        return;
    }
    call->in_callback = true;
    if (call->state == HEAD)
        play_head(call);
    else
        play_body(call);
    if (cassette_leave_callback(call))
        ch_task_defer(call->owner->loop, &call->task);
}

static struct ch_http_call *replay_start(struct ch_transport *t, const struct ch_http_request *req,
                                         const struct ch_http_handler *handler, void *user) {
    struct ch_cassette *c = CH_CONTAINER(t, struct ch_cassette, transport);
    struct ch_http_call *call = call_new(c, req, handler, user);
    call->task.fn = cassette_step;
    ch_task_defer(c->loop, &call->task);
    return call;
}

static void replay_cancel(struct ch_transport *t, struct ch_http_call *call) {
    (void)t;
    if (call->in_callback)
        call->dead = true;
    else
        cassette_call_free(call);
}

/* --- the cassette */

static const struct ch_transport_ops record_ops = {
    .name = "record", .start = record_start, .cancel = record_cancel};
static const struct ch_transport_ops replay_ops = {
    .name = "replay", .start = replay_start, .cancel = replay_cancel};

static struct ch_cassette *cassette_new(struct ch_loop *loop, const char *path,
                                        const struct ch_transport_ops *ops) {
    struct ch_cassette *c = ch_alloc(sizeof(*c));
    c->transport.ops = ops;
    c->loop = loop;
    c->path = ch_strdup(path);
    c->fd = -1;
    ch_list_init(&c->calls);
    return c;
}

int ch_cassette_record(struct ch_loop *loop, const char *path, struct ch_transport *inner,
                       struct ch_cassette **out, struct chela_error *err) {
    /* A relative name may be one of a stranger's directory: no link, and no wait for a pipe. */
    int careful = O_NONBLOCK | (path[0] == '/' ? 0 : O_NOFOLLOW);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | careful, 0600);
    if (fd < 0)
        return ch_fail(err, CHELA_EIO, "%s: %s", path, strerror(errno));
    struct ch_cassette *c = cassette_new(loop, path, &record_ops);
    c->fd = fd;
    c->inner = inner;
    cassette_write_line(c, ch_sv_str(header));
    *out = c;
    return 0;
}

static int cassette_bad_line(const struct ch_cassette *c, unsigned line, const char *why,
                             struct chela_error *err) {
    return ch_fail(err, CHELA_ECONFIG, "%s:%u: %s", c->path, line, why);
}

static int read_exchange(struct ch_cassette *c, struct ch_sv text, unsigned line,
                         struct chela_error *err) {
    const struct ch_json *v;
    struct chela_error why = {0};
    if (ch_json_parse(&c->arena, text, CH_JSON_STRICT, &v, NULL, &why) < 0)
        return cassette_bad_line(c, line, why.message, err);
    if (line == 1)
        return ch_json_int(ch_json_get(v, "chela_cassette"), 0) == 1
                   ? 0
                   : cassette_bad_line(c, line, "no cassette of this version", err);
    struct exchange e = {.request = ch_json_get(v, "request"),
                         .response = ch_json_get(v, "response"),
                         .error = ch_json_get(v, "error"),
                         .line = line};
    if (!ch_json_is(e.request, CH_JSON_OBJECT))
        return cassette_bad_line(c, line, "a line needs a \"request\"", err);
    bool cancelled = ch_json_bool(ch_json_get(v, "cancelled"), false);
    if (!e.response && !e.error && !cancelled)
        return cassette_bad_line(c, line, "a line needs a \"response\" or an \"error\"", err);
    if (cancelled && ch_json_parse(&c->arena,
                                   CH_SV("{\"code\":\"CHELA_ENET\",\"message\":\"the recorded call "
                                         "was cancelled here\"}"),
                                   CH_JSON_STRICT, &e.error, NULL, err) < 0)
        return CHELA_EINTERNAL;
    c->exchanges = ch_realloc(c->exchanges, (c->n + 1) * sizeof(*c->exchanges));
    c->exchanges[c->n++] = e;
    return 0;
}

static int read_tape(struct ch_cassette *c, struct chela_error *err) {
    ch_buf_init(&c->text, CH_LIMIT_CASSETTE);
    int rc = ch_file_load(c->path, CH_LIMIT_CASSETTE, &c->text, err);
    struct ch_sv rest = ch_buf_sv(&c->text);
    if (rc == 0 && ch_sv_trim(rest).n == 0)
        return ch_fail(err, CHELA_ECONFIG, "%s is empty: nothing was recorded", c->path);
    for (unsigned line = 1; rc == 0 && (rest.n || line == 1); line++) {
        struct ch_sv text = ch_sv_trim(ch_sv_split(&rest, '\n'));
        if (text.n || line == 1)
            rc = read_exchange(c, text, line, err);
    }
    return rc;
}

int ch_cassette_replay(struct ch_loop *loop, const char *path, struct ch_cassette **out,
                       struct chela_error *err) {
    struct ch_cassette *c = cassette_new(loop, path, &replay_ops);
    int rc = read_tape(c, err);
    if (rc < 0) {
        c->n = 0; /* suppresses the warning about unused calls */
        ch_cassette_close(c);
        return rc;
    }
    if (c->n == 0)
        ch_log(CH_LOG_WARN, "cassette", "%s is empty: it holds no recorded call", c->path);
    *out = c;
    return 0;
}

static void say_unused(const struct ch_cassette *c) {
    size_t left = 0;
    for (size_t i = 0; i < c->n; i++)
        left += !c->exchanges[i].used;
    if (left)
        ch_log(CH_LOG_WARN, "cassette", "%s: %zu of %zu recorded calls were not made", c->path,
               left, c->n);
}

void ch_cassette_close(struct ch_cassette *c) {
    if (!c)
        return;
    for (struct ch_http_call *call; (call = CH_LIST_FIRST(&c->calls, struct ch_http_call, link));)
        cassette_call_free(call);
    say_unused(c);
    if (c->fd >= 0)
        close(c->fd);
    ch_tape_words_release(&c->words);
    ch_arena_release(&c->arena);
    ch_buf_release(&c->text);
    ch_free(c->exchanges);
    ch_free(c->path);
    ch_free(c);
}

struct ch_transport *ch_cassette_transport(struct ch_cassette *c) {
    return &c->transport;
}

struct ch_transport *ch_cassette_reach(struct ch_cassette *c, struct ch_transport *inner) {
    struct ch_transport *before = c->inner;
    c->inner = inner;
    return before;
}

bool ch_cassette_plays(const struct ch_cassette *c) {
    return c && c->transport.ops == &replay_ops;
}

bool ch_cassette_has(const struct ch_cassette *c, const char *url) {
    for (size_t i = 0; c && i < c->n; i++)
        if (ch_sv_is(ch_json_get_str(c->exchanges[i].request, "url"), url))
            return true;
    return false;
}

void ch_cassette_hide(struct ch_cassette *c, const char *text, const char *word) {
    ch_tape_words_add(&c->words, text, word);
}
