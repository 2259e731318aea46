/* main.c -- a loopback server that speaks the protocols of model services, plays
 * conversations from files, and causes faults on request.
 *
 *     llmserver --conversations DIR [--conversations DIR...] --log FILE
 *
 * Prints "port N" and "trap N" and serves until its parent dies. A request to
 *     /NAME/INSTANCE/v1/messages, /NAME/INSTANCE/v1/chat/completions,
 *     /NAME/INSTANCE/v1/responses,
 *     /NAME/INSTANCE/v1beta/models/MODEL:streamGenerateContent or
 *     /NAME/INSTANCE/model/MODEL/converse-stream
 * is answered with the next reply of DIR/NAME.json: the n-th request of an
 * INSTANCE (any word a client picks) gets the n-th reply, so several clients
 * can play one conversation at once. README.md beside this file has the format.
 *
 * Every request is checked as the vendor would (check.c) and written to the log as a line of
 * JSON before it is answered; a second line records the outcome of the answer. The trap is a
 * second port that no client should ever use.
 *
 * There is one thread per connection with blocking calls, which keeps faults that wait
 * simple. */
#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../listen/listen.h"
#include "server.h"

#define MAX_HEAD (64 * 1024)
#define MAX_BODY (64 * 1024 * 1024)
#define MAX_DIRS 8

struct counter {
    struct counter *next;
    char key[160];
    unsigned n;
};

static struct {
    const char *dirs[MAX_DIRS];
    size_t ndirs;
    FILE *log;
    int trap_port;
    pthread_mutex_t lock; /* log, counters, conns */
    struct counter *counters;
    unsigned conns;
} server = {.lock = PTHREAD_MUTEX_INITIALIZER};

struct conn {
    int fd;
    unsigned number;
    bool trap;
    struct text in; /* bytes read and not used */
};

/* --- reading a request ------------------------------------------------------ */

static bool more(struct conn *c) {
    char buf[16384];
    ssize_t n;

    do
        n = recv(c->fd, buf, sizeof(buf), 0);
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        return false;
    text_add(&c->in, buf, (size_t)n);
    return true;
}

static void used(struct conn *c, size_t n) {
    memmove(c->in.p, c->in.p + n, c->in.n - n);
    c->in.n -= n;
    c->in.p[c->in.n] = '\0';
}

const char *request_header(const struct request *rq, const char *name) {
    for (size_t i = 0; i < rq->nheaders; i++)
        if (strcmp(rq->headers[i].name, name) == 0)
            return rq->headers[i].value;
    return NULL;
}

static void add_header(struct request *rq, char *line) {
    char *colon = strchr(line, ':');

    if (!colon || rq->nheaders == 64)
        return;
    *colon = '\0';
    char *value = colon + 1 + strspn(colon + 1, " \t");
    for (char *p = line; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    rq->headers[rq->nheaders++] = (struct header){strdup(line), strdup(value)};
}

static bool parse_head(struct request *rq, char *head) {
    char *save = NULL, *line = strtok_r(head, "\r\n", &save);
    char *space = line ? strchr(line, ' ') : NULL;
    char *end = space ? strchr(space + 1, ' ') : NULL;

    if (!end || strncmp(end, " HTTP/1.", 8) != 0)
        return false;
    *space = *end = '\0';
    rq->method = strdup(line);
    rq->path = strdup(space + 1);
    while ((line = strtok_r(NULL, "\r\n", &save)) != NULL)
        add_header(rq, line);
    return true;
}

static bool read_exactly(struct conn *c, size_t n, struct text *out) {
    while (c->in.n < n)
        if (n > MAX_BODY || !more(c))
            return false;
    text_add(out, c->in.p, n);
    used(c, n);
    return true;
}

static bool read_line(struct conn *c, char *line, size_t max) {
    char *end;

    while (!c->in.n || !(end = strstr(c->in.p, "\r\n")))
        if (c->in.n > MAX_HEAD || !more(c))
            return false;
    snprintf(line, max, "%.*s", (int)(end - c->in.p), c->in.p);
    used(c, (size_t)(end - c->in.p) + 2);
    return true;
}

static bool read_chunks(struct conn *c, struct text *out) {
    char line[128];

    for (;;) {
        if (!read_line(c, line, sizeof(line)))
            return false;
        size_t n = strtoul(line, NULL, 16);
        if (!read_exactly(c, n, out) || !read_line(c, line, sizeof(line)))
            return false;
        if (n == 0)
            return true;
    }
}

static bool read_request(struct conn *c, struct request *rq) {
    char *end;

    while (!c->in.n || !(end = strstr(c->in.p, "\r\n\r\n"))) {
        if (c->in.n > MAX_HEAD || !more(c))
            return false;
        if (!isupper((unsigned char)c->in.p[0])) { /* TLS, perhaps */
            send(c->fd, "HTTP/1.1 400 Bad Request\r\n\r\n", 28, MSG_NOSIGNAL);
            return false;
        }
    }
    char *head = strndup(c->in.p, (size_t)(end - c->in.p));
    used(c, (size_t)(end - c->in.p) + 4);
    bool good = parse_head(rq, head);
    free(head);
    if (!good)
        return false;
    const char *length = request_header(rq, "content-length");
    const char *coding = request_header(rq, "transfer-encoding");
    if (coding)
        return read_chunks(c, &rq->body);
    return !length || read_exactly(c, strtoul(length, NULL, 10), &rq->body);
}

static void request_free(struct request *rq) {
    free(rq->method);
    free(rq->path);
    for (size_t i = 0; i < rq->nheaders; i++) {
        free(rq->headers[i].name);
        free(rq->headers[i].value);
    }
    text_free(&rq->body);
    json_free(rq->json);
}

/* --- which conversation, which reply ---------------------------------------- */

static bool ends_with(const char *s, const char *tail) {
    size_t n = strlen(s), m = strlen(tail);

    return n >= m && strcmp(s + n - m, tail) == 0;
}

static unsigned next_number(const struct request *rq) {
    struct counter *k;
    char key[160];

    snprintf(key, sizeof(key), "%s/%s", rq->scenario, rq->instance);
    pthread_mutex_lock(&server.lock);
    for (k = server.counters; k && strcmp(k->key, key) != 0; k = k->next)
        ;
    if (!k) {
        k = calloc(1, sizeof(*k));
        memcpy(k->key, key, sizeof(k->key));
        k->next = server.counters;
        server.counters = k;
    }
    unsigned n = k->n++;
    pthread_mutex_unlock(&server.lock);
    return n;
}

/* .../models/MODEL:METHOD */
static void route_gemini(struct request *rq, const char *path) {
    const char *model = strstr(path, "/models/");

    rq->api = API_GEMINI;
    rq->stream = ends_with(path, ":streamGenerateContent");
    if (model)
        sscanf(model + 8, "%127[^:]", rq->model);
}

static void route(struct request *rq) {
    char path[256];

    snprintf(path, sizeof(path), "%.*s", (int)strcspn(rq->path, "?"), rq->path);
    if (ends_with(path, "/messages"))
        rq->api = API_ANTHROPIC;
    else if (ends_with(path, "/chat/completions"))
        rq->api = API_OPENAI;
    else if (ends_with(path, "/responses"))
        rq->api = API_RESPONSES;
    else if (ends_with(path, "/interactions"))
        rq->api = API_INTERACTIONS;
    else if (ends_with(path, ":generateContent") || ends_with(path, ":streamGenerateContent"))
        route_gemini(rq, path);
    else if (ends_with(path, "/converse") || ends_with(path, "/converse-stream"))
        rq->api = API_BEDROCK;
    if (sscanf(path, "/%63[A-Za-z0-9_-]/%63[A-Za-z0-9_-]/", rq->scenario, rq->instance) != 2)
        rq->api = API_NONE;
    if (rq->api == API_BEDROCK)
        rq->stream = ends_with(path, "-stream");
    if (rq->api != API_NONE)
        rq->number = next_number(rq);
}

static struct json *load(const char *name) {
    struct json *v = NULL;

    for (size_t i = 0; i < server.ndirs && !v; i++) {
        struct text text = {0};
        char path[512], buf[4096];
        const char *why = "";
        size_t n;
        snprintf(path, sizeof(path), "%s/%s.json", server.dirs[i], name);
        FILE *f = fopen(path, "r");
        if (!f)
            continue;
        while ((n = fread(buf, 1, sizeof(buf), f)) > 0)
            text_add(&text, buf, n);
        fclose(f);
        v = json_parse(text.p ? text.p : "", text.n, &why);
        if (!v)
            fprintf(stderr, "llmserver: %s: %s\n", path, why);
        text_free(&text);
    }
    return v;
}

static bool mentions(const struct json *v, const char *words) {
    if (v->type == JSON_STRING)
        return strstr(v->text, words) != NULL;
    for (const struct json *one = v->first; one; one = one->next)
        if (mentions(one, words))
            return true;
    return false;
}

/* A message of the model, or an item of one (Responses). */
static bool is_reply(const struct json *m) {
    const char *role = json_str(m, "role", NULL), *type = json_str(m, "type", "");
    size_t n = strlen(type);

    if (role)
        return strcmp(role, "assistant") == 0;
    return strcmp(type, "reasoning") == 0 || (n > 5 && strcmp(type + n - 5, "_call") == 0);
}

/* Do the words occur after the last reply? */
static bool is_news(const struct json *request, const char *words) {
    const struct json *all = json_get(request, "messages");
    bool found = false;

    if (!all)
        all = json_get(request, "input");
    for (const struct json *m = all ? all->first : NULL; m; m = m->next)
        found = !is_reply(m) && (found || mentions(m, words));
    return found;
}

/* The first reply whose words occur after the last reply, or that has none. The number of
 * requests does not matter: a client that died asks again. */
static const struct json *pick_by_words(const struct json *r, const struct json *request) {
    for (; r; r = r->next) {
        const char *words = json_str(r, "when", NULL);
        if (!words || is_news(request, words))
            return r;
    }
    return NULL;
}

/* The n-th reply; the last one is repeated if the file says so. */
static const struct json *pick(const struct json *conversation, const struct request *rq) {
    const struct json *list = json_get(conversation, "replies"), *r = list ? list->first : NULL;
    unsigned n = rq->number;

    if (json_get(r, "when"))
        return pick_by_words(r, rq->json);
    for (; r && n > 0; n--) {
        if (!r->next && json_true(conversation, "repeat"))
            break;
        r = r->next;
    }
    return r;
}

/* --- the log ---------------------------------------------------------------- */

static void log_line(struct text *line) {
    pthread_mutex_lock(&server.lock);
    fwrite(line->p, 1, line->n, server.log);
    fputc('\n', server.log);
    fflush(server.log);
    pthread_mutex_unlock(&server.lock);
    text_free(line);
}

static void log_request(const struct conn *c, const struct request *rq, const struct problems *pr) {
    struct text line = {0};

    text_addf(&line, "{\"conn\":%u,\"trap\":%s,\"conversation\":\"%s\",\"instance\":\"%s\","
                     "\"n\":%u,\"method\":", c->number, c->trap ? "true" : "false", rq->scenario,
              rq->instance, rq->number);
    text_quote(&line, rq->method);
    text_addf(&line, ",\"path\":");
    text_quote(&line, rq->path);
    text_addf(&line, ",\"headers\":{");
    for (size_t i = 0; i < rq->nheaders; i++) {
        text_addf(&line, i ? "," : "");
        text_quote(&line, rq->headers[i].name);
        text_addf(&line, ":");
        text_quote(&line, rq->headers[i].value);
    }
    text_addf(&line, "},\"problems\":[%s],\"body\":", pr->list.n ? pr->list.p : "");
    if (rq->json)
        text_add(&line, rq->body.p, rq->body.n);
    else
        text_addf(&line, "null");
    text_addf(&line, "}");
    for (size_t i = 0; i < line.n; i++) /* between tokens only: strings have none */
        if (line.p[i] == '\n' || line.p[i] == '\r')
            line.p[i] = ' ';
    log_line(&line);
}

static void log_end(const struct request *rq, const struct out *o) {
    struct text line = {0};

    text_addf(&line, "{\"end\":true,\"conn\":%u,\"conversation\":\"%s\",\"instance\":\"%s\","
                     "\"n\":%u,\"sent\":%zu,\"broken\":%s}", rq->conn, rq->scenario,
              rq->instance, rq->number, o->sent, o->dead ? "true" : "false");
    log_line(&line);
}

/* --- answering -------------------------------------------------------------- */

static void garbage(struct out *o, long n) {
    unsigned seed = 12345;

    for (long i = 0; i < n && !o->dead; i++) {
        seed = seed * 1103515245u + 12345u;
        char byte = (char)(seed >> 16);
        out_body(o, &byte, 1);
    }
}

/* "{trap}" in a header stands for the trap's port. */
static void extra_headers(struct text *out, const struct request *rq, const struct json *reply) {
    const struct json *headers = json_get(reply, "headers");
    long big = json_int(reply, "big_header", 0);

    for (const struct json *h = headers ? headers->first : NULL; h; h = h->next) {
        const char *mark = strstr(h->text, "{trap}");
        text_addf(out, "%s: ", h->key);
        if (mark)
            text_addf(out, "%.*s%d%s", (int)(mark - h->text), h->text, server.trap_port, mark + 6);
        else
            text_addf(out, "%s", h->text);
        text_addf(out, "\r\n");
    }
    if (big) {
        text_addf(out, "X-Big: ");
        for (long i = 0; i < big; i++)
            text_add(out, "x", 1);
        text_addf(out, "\r\n");
    }
    const char *after = json_str(json_get(reply, "error"), "retry_after", NULL);
    if (after && rq->api != API_GEMINI) /* in Gemini the body contains it */
        text_addf(out, "Retry-After: %s\r\n", after);
}

static void send_whole(struct out *o, int status, const char *type, const struct text *extra,
                       const struct text *body) {
    out_head(o, status, type, extra, (long)body->n);
    out_body(o, body->p ? body->p : "", body->n);
}

/* Amazon names the kind of an error in a header. */
static void name_error(struct text *extra, const struct request *rq, const struct json *error) {
    if (rq->api == API_BEDROCK)
        text_addf(extra, "x-amzn-ErrorType: %s:http://internal.amazon.com/coral/\r\n",
                  bedrock_error_type(error));
}

static void answer(struct out *o, const struct request *rq, const struct json *reply) {
    const struct json *error = json_get(reply, "error"), *literal = json_get(reply, "body");
    int status = (int)json_int(reply, "status", 200);
    bool stream = rq->stream || json_true(rq->json, "stream");
    const char *type = json_str(reply, "content_type", NULL);
    struct text extra = {0}, body = {0};

    extra_headers(&extra, rq, reply);
    out_wait(o, json_int(reply, "delay_ms", 0));
    if (json_get(reply, "wire_garbage")) {
        char junk[] = "\x16\x03\x01\xff\xfe\x80 this is not HTTP\r\n\r\n";
        out_raw(o, junk, sizeof(junk) - 1);
        o->dead = true;
    } else if (json_get(reply, "garbage")) {
        out_head(o, status, type ? type : "text/event-stream", &extra, -1);
        garbage(o, json_int(reply, "garbage", 0));
        out_end(o);
    } else if (error) {
        status = render_error(&body, rq, error);
        name_error(&extra, rq, error);
        send_whole(o, status, type ? type : "application/json", &extra, &body);
    } else if (literal) {
        add_piece(&body, literal);
        send_whole(o, status, type ? type : "application/json", &extra, &body);
    } else if (stream) {
        if (!type)
            type = rq->api == API_BEDROCK ? "application/vnd.amazon.eventstream"
                                          : "text/event-stream; charset=utf-8";
        out_head(o, status, type, &extra, -1);
        render_stream(o, rq, reply);
        out_end(o);
    } else {
        render_whole(&body, rq, reply);
        send_whole(o, status, type ? type : "application/json", &extra, &body);
    }
    text_free(&extra);
    text_free(&body);
}

static void refuse(struct out *o, const struct request *rq, int status, const char *message) {
    struct text described = {0}, body = {0}, extra = {0};

    text_addf(&described, "{\"status\":%d,\"message\":", status);
    text_quote(&described, message);
    text_addf(&described, "}");
    struct json *error = json_parse(described.p, described.n, NULL);
    render_error(&body, rq, error);
    name_error(&extra, rq, error);
    send_whole(o, status, "application/json", &extra, &body);
    text_free(&extra);
    json_free(error);
    text_free(&described);
    text_free(&body);
}

/* Information that a server gives about itself: "serve" of a conversation has a body for
 * each additional path. */
static bool answer_beside(struct out *o, const struct request *rq) {
    struct json *conversation = rq->scenario[0] ? load(rq->scenario) : NULL;
    const struct json *serve = json_get(conversation, "serve");
    const struct json *body = NULL;
    char path[256];

    snprintf(path, sizeof(path), "%.*s", (int)strcspn(rq->path, "?"), rq->path);
    for (const struct json *s = serve ? serve->first : NULL; s && !body; s = s->next)
        body = ends_with(path, s->key) ? s : NULL;
    if (body) {
        struct text text = {0}, none = {0};
        text_add(&text, body->text, body->len);
        send_whole(o, 200, "application/json", &none, &text);
        text_free(&text);
    }
    json_free(conversation);
    return body != NULL;
}

/* One request and its answer; false: close the connection. */
static bool serve_one(struct conn *c) {
    struct request rq = {.conn = c->number};
    struct problems problems = {0};
    struct out o;

    if (!read_request(c, &rq)) {
        request_free(&rq);
        return false;
    }
    route(&rq);
    rq.json = json_parse(rq.body.p ? rq.body.p : "", rq.body.n, &rq.json_why);
    if (rq.api != API_NONE)
        check_request(&rq, &problems);
    log_request(c, &rq, &problems);

    struct json *conversation = rq.api == API_NONE ? NULL : load(rq.scenario);
    const struct json *reply = pick(conversation, &rq);
    out_init(&o, c->fd, reply);
    if (c->trap)
        refuse(&o, &rq, 400, "nobody should have come here");
    else if (rq.api == API_NONE && answer_beside(&o, &rq))
        ; /* it was */
    else if (rq.api == API_NONE || !conversation)
        refuse(&o, &rq, 404, "no such path or conversation");
    else if (problems.fatal[0])
        refuse(&o, &rq, 400, problems.fatal);
    else if (!reply)
        refuse(&o, &rq, 400, "this conversation has no further reply");
    else
        answer(&o, &rq, reply);
    log_end(&rq, &o);

    const char *keep = request_header(&rq, "connection");
    bool again = !o.dead && !json_true(reply, "close") && !(keep && strcasecmp(keep, "close") == 0);
    json_free(conversation);
    text_free(&problems.list);
    request_free(&rq);
    return again;
}

/* trap: not NULL if this is the port that no client should use. */
static void serve(int fd, void *trap) {
    struct conn c = {.fd = fd, .trap = trap};

    pthread_mutex_lock(&server.lock);
    c.number = ++server.conns;
    pthread_mutex_unlock(&server.lock);
    while (serve_one(&c))
        ;
    close(fd);
    text_free(&c.in);
}

/* --- the program ------------------------------------------------------------ */

static void *serve_trap(void *listener) {
    listen_accept(*(int *)listener, serve, listener);
}

static void usage(void) {
    fprintf(stderr, "usage: llmserver --conversations DIR... --log FILE\n");
    exit(2);
}

int main(int argc, char **argv) {
    static int trap;
    pthread_t thread;
    unsigned port, trap_port;

    listen_end_with_parent();
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 == argc)
            usage();
        if (strcmp(argv[i], "--conversations") == 0 && server.ndirs < MAX_DIRS)
            server.dirs[server.ndirs++] = argv[i + 1];
        else if (strcmp(argv[i], "--log") == 0 && !server.log)
            server.log = fopen(argv[i + 1], "ae");
        else
            usage();
    }
    if (!server.log || !server.ndirs)
        usage();
    int fd = listen_on_loopback("llmserver", &port);
    trap = listen_on_loopback("llmserver", &trap_port);
    server.trap_port = (int)trap_port;
    printf("port %u\ntrap %u\n", port, trap_port);
    fflush(stdout);
    if (pthread_create(&thread, NULL, serve_trap, &trap) != 0)
        return 1;
    listen_accept(fd, serve, NULL);
}
