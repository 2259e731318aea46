/* wecom_hook.c -- callback mode: requests, and answers that the service fetches.
 *
 *   message --stored--> "a stream begins" --the service asks again and again--> the text so far
 *   answer:   put into the stream --fetched--> sent
 *                                 --not fetched, or the stream has ended--> response_url, once
 *
 * Requests are signed and encrypted, and so are their answers. The service asks for six minutes.
 * The response_url of a message takes one message within an hour. */
#include "channel/wecom/wecom_hook.h"

#include <stdio.h>

#include "base/uri.h"
#include "channel/wecom/wecom_line.h"
#include "channel/wecom/wecom_message.h"
#include "channel/wecom/wecom_post.h"
#include "channel/wecom/wecom_seal.h"

#define WINDOW_S 600   /* age of a request */
#define FETCH_MS 10000 /* the service asks more often */

static int64_t hook_now(const struct ch_wecom *w) {
    return w->host->now(w->host->user);
}

/* --- requests */

static struct ch_sv hook_parameter(struct ch_sv query, const char *name, struct ch_arena *a) {
    while (query.p && query.n) {
        struct ch_sv value = ch_sv_split(&query, '&'), key = ch_sv_split(&value, '=');
        if (ch_sv_is(key, name) && value.p)
            return ch_uri_decode(a, value);
    }
    return ch_sv("", 0);
}

static bool hook_is_recent(struct ch_sv stamp, int64_t now_ms) {
    int64_t then = 0;
    for (size_t i = 0; i < stamp.n; i++) {
        if (stamp.p[i] < '0' || stamp.p[i] > '9' || i > 11)
            return false;
        then = 10 * then + (stamp.p[i] - '0');
    }
    return stamp.n && then >= now_ms / 1000 - WINDOW_S && then <= now_ms / 1000 + WINDOW_S;
}

/* Check the signature of `sealed` and decrypt it. */
static bool hook_unseal(const struct ch_wecom *w, const struct chela_channel_callback *in,
                        struct ch_sv sealed, struct ch_arena *a, struct ch_buf *out) {
    struct ch_sv query = ch_kit_sv(in->query);
    struct ch_sv stamp = hook_parameter(query, "timestamp", a);
    struct ch_sv shown = hook_parameter(query, "msg_signature", a);
    char want[41];
    if (!sealed.n || !hook_is_recent(stamp, in->now))
        return false;
    ch_wecom_sign(w->host, ch_sv_str(w->token), stamp, hook_parameter(query, "nonce", a), sealed,
                  want);
    return w->host->same(ch_kit_text(shown), (struct chela_text){want, 40}, w->host->user) &&
           ch_wecom_unseal(w->host, w->key, sealed, ch_sv_str(w->receiver), out);
}

/* {encrypt, msgsignature, timestamp, nonce} */
static void hook_seal(const struct ch_wecom *w, struct ch_sv text, struct ch_buf *out) {
    unsigned char random[24];
    char nonce[17], signature[41], stamp[24];
    CH_BUF_AUTO sealed = {0};
    struct ch_jw j = ch_jw(out);
    w->host->random(random, sizeof(random), w->host->user);
    for (size_t i = 0; i < 8; i++)
        snprintf(nonce + 2 * i, 3, "%02x", random[16 + i]);
    snprintf(stamp, sizeof(stamp), "%lld", (long long)(hook_now(w) / 1000));
    if (!ch_wecom_seal(w->host, w->key, random, text, ch_sv_str(w->receiver), &sealed))
        return;
    ch_wecom_sign(w->host, ch_sv_str(w->token), ch_sv_str(stamp), ch_sv_str(nonce),
                  ch_buf_sv(&sealed), signature);
    ch_jw_begin(&j, '{');
    ch_jw_kstr(&j, "encrypt", ch_buf_sv(&sealed));
    ch_jw_kcstr(&j, "msgsignature", signature);
    ch_jw_kint(&j, "timestamp", hook_now(w) / 1000);
    ch_jw_kcstr(&j, "nonce", nonce);
    ch_jw_end(&j, '}');
}

static void hook_seal_stream(const struct ch_wecom *w, const char *id, struct ch_sv text,
                             bool finish, struct ch_buf *out) {
    CH_BUF_AUTO plain = {0};
    struct ch_jw j = ch_jw(&plain);
    ch_wecom_write_stream(&j, id, text, finish);
    hook_seal(w, ch_buf_sv(&plain), out);
}

/* --- messages */

struct wecom_ack {
    struct ch_kit_job job; /* in the channel's presses: a channel with such a job does not leave */
    struct ch_wecom *w;
    char *stream; /* owned */
    void *respond_to;
};

static void ack_free(struct ch_kit_job *job) {
    struct wecom_ack *a = CH_CONTAINER(job, struct wecom_ack, job);
    ch_free(a->stream);
    ch_free(a);
}

static void hook_on_stored(int rc, const struct chela_error *err, void *tag) {
    struct wecom_ack *a = tag;
    struct ch_wecom *w = a->w;
    bool safe = rc == 0 || rc == CHELA_EEXIST;
    CH_BUF_AUTO out = {0};
    if (!safe)
        w->host->log(CHELA_LOG_ERROR, err ? err->message : "a message cannot be stored",
                     w->host->user);
    else
        hook_seal_stream(w, a->stream, ch_sv("", 0), false, &out);
    w->host->respond(a->respond_to, safe ? 200 : 503, NULL, ch_kit_text(ch_buf_sv(&out)),
                     w->host->user);
    ch_kit_job_end(&a->job);
}

/* The id of the stream that answers a message is the same when the message comes again. */
static const char *hook_stream_id(const struct ch_wecom *w, const char *message,
                                  struct ch_arena *a) {
    unsigned char digest[32];
    CH_BUF_AUTO id = {0};
    w->host->sha256((struct chela_text){message, strlen(message)}, digest, w->host->user);
    for (size_t i = 0; i < 12; i++)
        ch_buf_addf(&id, "%02x", digest[i]);
    return ch_arena_str(a, ch_buf_sv(&id));
}

static void hook_message(struct ch_wecom *w, const struct chela_channel_callback *in,
                         const struct ch_json *v, struct ch_arena *a,
                         struct chela_channel_verdict *out) {
    struct chela_channel_message m;
    const char *url = ch_kit_word(v, "response_url", a);
    if (!ch_wecom_read(v, a, &m))
        return;
    const char *stream = hook_stream_id(w, m.id, a);
    m.handle = ch_arena_printf(a, "%s %s", stream, url ? url : "-");
    struct wecom_ack *ack = ch_alloc(sizeof(*ack));
    ack->w = w;
    ack->stream = ch_strdup(stream);
    ack->respond_to = in->respond_to;
    ch_kit_job_begin(&w->presses, &ack->job, ack_free);
    ch_wecom_stream(w, stream, NULL);
    if (w->host->message(&m, hook_on_stored, ack, w->host->user))
        out->later = 1;
    else
        ch_kit_job_end(&ack->job);
}

/* --- the service fetches */

static void hook_fetched(struct ch_wecom *w, const char *id) {
    for (CH_LIST_EACH(k, &w->waiting)) {
        struct ch_wecom_post *p = CH_CONTAINER(k, struct ch_wecom_post, waits);
        if (strcmp(p->id, id) == 0 && p->until > 0)
            p->until = -1; /* the sweep reports it */
    }
}

static void hook_fetch(struct ch_wecom *w, const struct ch_json *v, struct ch_arena *a,
                       chela_channel_arena *owner, struct chela_channel_verdict *out) {
    const char *id = ch_kit_word(ch_json_get(v, "stream"), "id", a);
    struct ch_wecom_stream *s = id ? ch_wecom_stream_find(w, id) : NULL;
    CH_BUF_AUTO sealed = {0};
    if (!id)
        return;
    hook_seal_stream(w, id, s ? ch_buf_sv(&s->text) : ch_sv("", 0), s && s->finish, &sealed);
    char *copy = w->host->alloc(owner, sealed.n + 1, w->host->user);
    memcpy(copy, ch_buf_str(&sealed), sealed.n);
    out->answer = (struct chela_text){copy, sealed.n};
    out->type = NULL;
    if (s && s->finish) {
        s->over = true;
        hook_fetched(w, id);
    }
}

void ch_wecom_receive(void *self, const struct chela_channel_callback *in, chela_channel_arena *a,
                      struct chela_channel_verdict *out) {
    struct ch_wecom *w = self;
    CH_ARENA_AUTO own = {0};
    CH_BUF_AUTO plain = {0};
    const struct ch_json *v = NULL;
    bool get = strcmp(in->method, "GET") == 0;
    *out = (struct chela_channel_verdict){.status = 401,
                                          .why = "the signature is not that of the service"};
    if (!w->token) {
        out->why = "messages come over the long connection";
        return;
    }
    if (!get && (ch_json_parse(&own, ch_kit_sv(in->body), CH_JSON_REPLACE, &v, NULL, NULL) < 0 ||
                 !ch_json_is(v, CH_JSON_OBJECT))) {
        out->status = 400;
        out->why = "the body is not a JSON object";
        return;
    }
    struct ch_sv sealed =
        get ? hook_parameter(ch_kit_sv(in->query), "echostr", &own) : ch_json_get_str(v, "encrypt");
    if (!hook_unseal(w, in, sealed, &own, &plain))
        return;
    out->status = 200;
    out->type = "text/plain";
    if (get) {
        char *copy = w->host->alloc(a, plain.n + 1, w->host->user);
        memcpy(copy, ch_buf_str(&plain), plain.n);
        out->answer = (struct chela_text){copy, plain.n};
    } else if (ch_json_parse(&own, ch_buf_sv(&plain), CH_JSON_REPLACE, &v, NULL, NULL) < 0) {
        out->status = 400;
        out->why = "the message is not JSON";
    } else if (ch_sv_is(ch_json_get_str(v, "msgtype"), "stream")) {
        hook_fetch(w, v, &own, a, out);
    } else {
        hook_message(w, in, v, &own, out);
    }
}

/* --- answers */

static void hook_on_response(const struct chela_channel_response *r, void *tag) {
    struct ch_wecom_post *p = tag;
    CH_ARENA_AUTO a = {0};
    const struct ch_json *v = NULL;
    struct ch_wecom_answer got;
    if (r->why || r->status >= 500 || r->status == 429 ||
        ch_json_parse(&a, ch_kit_sv(r->body), CH_JSON_REPLACE, &v, NULL, NULL) < 0) {
        ch_wecom_post_end(p, CHELA_RECEIPT_UNCERTAIN, r->why ? r->why : "the service fails",
                          ch_kit_retry_after(r));
        return;
    }
    ch_wecom_judge(ch_json_int(ch_json_get(v, "errcode"), r->status == 200 ? 0 : r->status),
                   ch_json_get_str(v, "errmsg"), &a, &got);
    /* The address takes one message: an earlier attempt has used it. */
    bool used = got.what == CHELA_RECEIPT_REFUSED && p->repeated;
    ch_wecom_post_end(p, used ? CHELA_RECEIPT_SENT : got.what, got.why, got.wait_ms);
}

static void hook_send(struct ch_wecom_post *p, const char *url) {
    static const char *const headers[] = {"Content-Type", "application/json", NULL};
    CH_BUF_AUTO body = {0};
    struct ch_jw j = ch_jw(&body);
    ch_jw_begin(&j, '{');
    ch_jw_kcstr(&j, "msgtype", "markdown");
    ch_jw_kbegin(&j, "markdown", '{');
    ch_jw_kstr(&j, "content", ch_buf_sv(&p->text));
    ch_jw_end(&j, '}');
    ch_jw_end(&j, '}');
    p->w->host->http(&(struct chela_channel_request){.method = "POST",
                                                     .url = url,
                                                     .headers = headers,
                                                     .body = body.p,
                                                     .n = body.n,
                                                     .once = 1},
                     hook_on_response, p, p->w->host->user);
}

static const char *hook_url(const struct ch_wecom_post *p) {
    const char *space = p->handle ? strchr(p->handle, ' ') : NULL;
    const char *url = space ? space + 1 : "";
    return ch_kit_is_safe_url(url) && ch_kit_is_token(url, "") ? url : NULL;
}

/* until: -1: fetched; -2: the answer cannot be sent; else the time at which it is sent in
 * another way. */
void ch_wecom_hook_sweep(struct ch_wecom *w) {
    struct ch_link *next;
    for (struct ch_link *k = w->waiting.head.next; k != &w->waiting.head; k = next) {
        struct ch_wecom_post *p = CH_CONTAINER(k, struct ch_wecom_post, waits);
        next = k->next;
        if (p->until > hook_now(w))
            continue;
        ch_list_del(&p->waits);
        if (p->until == -1)
            ch_wecom_post_end(p, CHELA_RECEIPT_SENT, NULL, 0);
        else if (p->until == -2)
            ch_wecom_post_end(p, CHELA_RECEIPT_REFUSED,
                              p->name ? "callback mode sends no files"
                                      : "the message has no address for an answer",
                              0);
        else if (hook_url(p))
            hook_send(p, hook_url(p));
        else
            ch_wecom_post_end(p, CHELA_RECEIPT_REFUSED, "the service did not fetch the answer", 0);
        next = w->waiting.head.next; /* the callback may have changed the list */
    }
    ch_wecom_streams_sweep(w);
}

static void hook_wait(struct ch_wecom_post *p, int64_t until) {
    p->until = until;
    ch_list_add(&p->w->waiting, &p->waits);
}

void ch_wecom_hook_post(struct ch_wecom_post *p) {
    struct ch_wecom *w = p->w;
    struct ch_sv rest = ch_sv_str(p->handle ? p->handle : ""), id = ch_sv_split(&rest, ' ');
    if (p->approval) {
        CH_BUF_AUTO exact = {0};
        ch_wecom_exact(&exact, ch_buf_sv(&p->text));
        ch_kit_decide(&exact, ch_buf_str(&p->text), p->approval);
        ch_buf_clear(&p->text);
        ch_buf_add_sv(&p->text, ch_buf_sv(&exact));
    }
    if (!id.n || p->name) {
        hook_wait(p, -2);
        return;
    }
    ch_free(p->id);
    p->id = ch_strndup(id.p, id.n);
    struct ch_wecom_stream *s = ch_wecom_stream(w, p->id, NULL);
    bool usable = !s->over && hook_now(w) - s->since < CH_WECOM_STREAM_MS;
    bool shown = s->over && ch_sv_eq(ch_buf_sv(&s->text), ch_buf_sv(&p->text));
    if ((p->first || p->approval) && shown) {
        hook_wait(p, -1); /* the host posts the completed text again; the stream already shows it */
    } else if ((p->first || p->approval) && usable) {
        ch_buf_clear(&s->text);
        ch_buf_add_sv(&s->text, ch_buf_sv(&p->text));
        s->finish = !p->growing;
        hook_wait(p, p->growing ? -1 : hook_now(w) + FETCH_MS);
    } else if (hook_url(p) && !p->growing) {
        hook_send(p, hook_url(p));
    } else {
        hook_wait(p, -2);
    }
}
