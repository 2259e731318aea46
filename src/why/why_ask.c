/* why_ask.c -- see why_ask.h. */
#include "why/why_ask.h"

#include <stdlib.h>

#include "base/error.h"
#include "model/codec/decoder.h"
#include "model/message/message_json.h"
#include "model/provider/target_aws.h"
#include "model/wire/wire_encode.h"
#include "json/writer.h"

/* --- decisions -------------------------------------------------------------------------- */

struct sorted_member {
    struct ch_sv key;
    const struct ch_json *value;
};

static int by_key(const void *a, const void *b) {
    const struct sorted_member *x = a, *y = b;
    int order = memcmp(x->key.p, y->key.p, CH_MIN(x->key.n, y->key.n));
    return order ? order : x->key.n < y->key.n ? -1 : x->key.n > y->key.n;
}

/* Writes a value with the members of objects in order of their names. */
static void write_sorted(struct ch_jw *w, const struct ch_json *v) {
    if (ch_json_is(v, CH_JSON_ARRAY)) {
        ch_jw_begin(w, '[');
        for (CH_JSON_EACH(e, v))
            write_sorted(w, e);
        ch_jw_end(w, ']');
        return;
    }
    if (!ch_json_is(v, CH_JSON_OBJECT)) {
        ch_jw_value(w, v);
        return;
    }
    CH_AUTOFREE struct sorted_member *list = ch_alloc((v->n + 1) * sizeof(*list));
    size_t n = 0;
    for (CH_JSON_MEMBERS(k, m, v))
        list[n++] = (struct sorted_member){ch_json_str(k), m};
    qsort(list, n, sizeof(*list), by_key);
    ch_jw_begin(w, '{');
    for (size_t i = 0; i < n; i++) {
        ch_jw_key_sv(w, list[i].key);
        write_sorted(w, list[i].value);
    }
    ch_jw_end(w, '}');
}

/* Words of the text in lower case, separated by single spaces. */
static void add_words(struct ch_buf *out, struct ch_sv text) {
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        bool space = c == ' ' || c == '\n' || c == '\t' || c == '\r';
        if (!space)
            ch_buf_addc(out, c >= 'A' && c <= 'Z' ? (char)(c + 32) : c);
        else if (out->n && out->p[out->n - 1] != ' ')
            ch_buf_addc(out, ' ');
    }
}

void ch_why_decision(const struct ch_json *content, struct ch_buf *out) {
    struct ch_jw w = ch_jw(out);
    CH_BUF_AUTO words = {0};
    bool any = false;
    ch_jw_begin(&w, '{');
    for (CH_JSON_EACH(b, content)) {
        if (ch_sv_is(ch_json_get_str(b, "type"), "text"))
            add_words(&words, ch_json_get_str(b, "text"));
        if (!ch_sv_is(ch_json_get_str(b, "type"), "tool_call"))
            continue;
        if (!any) {
            ch_jw_kbegin(&w, "calls", '[');
        }
        any = true;
        ch_jw_begin(&w, '{');
        ch_jw_kstr(&w, "name", ch_json_get_str(b, "name"));
        ch_jw_key(&w, "arguments");
        write_sorted(&w, ch_json_get(b, "arguments"));
        ch_jw_end(&w, '}');
    }
    if (any)
        ch_jw_end(&w, ']');
    else
        ch_jw_kstr(&w, "text", ch_sv_trim(ch_buf_sv(&words)));
    ch_jw_end(&w, '}');
}

/* --- the call --------------------------------------------------------------------------- */

struct why_call {
    struct ch_loop *loop;
    struct ch_decoder decoder;
    bool over;
};

static void why_on_head(const struct ch_http_head *head, void *user) {
    ch_decoder_head(&((struct why_call *)user)->decoder, head);
}

static void why_on_data(struct ch_sv data, void *user) {
    ch_decoder_feed(&((struct why_call *)user)->decoder, data);
}

static void why_on_done(const struct chela_error *err, void *user) {
    struct why_call *c = user;
    ch_decoder_end(&c->decoder, err, ch_now_ms(ch_loop_clock(c->loop)));
    c->over = true;
}

static void why_ignore(const struct ch_model_event *ev, void *user) {
    (void)ev;
    (void)user;
}

static int take_decision(struct why_call *c, const struct ch_target *t, struct ch_buf *out,
                         struct chela_error *err) {
    const struct ch_reply *r = &c->decoder.reply;
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO json = {0};
    const struct ch_json *v = NULL;
    if (r->error.cls != CH_ERR_NONE)
        return ch_fail(err, CHELA_ENET, "%s: %.*s", t->spec, CH_SV_FMT(r->error.message));
    struct ch_jw w = ch_jw(&json);
    if (r->msg)
        ch_msg_write(r->msg, &w);
    if (json.n)
        ch_json_parse(&arena, ch_buf_sv(&json), CH_JSON_REPLACE, &v, NULL, NULL);
    ch_why_decision(ch_json_get(v, "content"), out);
    return 0;
}

/* The service's own tools in a neutral request, as JSON. */
static struct ch_sv server_tools_of(struct ch_sv neutral, struct ch_arena *a) {
    const struct ch_json *v = NULL;
    CH_BUF_AUTO text = {0};
    struct ch_jw w = ch_jw(&text);
    ch_json_parse(a, neutral, CH_JSON_STRICT, &v, NULL, NULL);
    const struct ch_json *tools = ch_json_get(v, "server_tools");
    if (!ch_json_is(tools, CH_JSON_ARRAY))
        return CH_SV("");
    ch_jw_value(&w, tools);
    return ch_arena_sv(a, ch_buf_sv(&text));
}

/* Sends the request and runs the loop until the reply is complete. A scripted model is reached
 * through the cassette, if there is one. */
static int send_and_wait(chela_runtime *rt, const struct ch_target *t,
                         const struct ch_http_request *http, struct why_call *c) {
    static const struct ch_http_handler handler = {why_on_head, why_on_data, why_on_done};
    bool tapes = rt->cassette && t->scripted;
    struct ch_transport *to = tapes ? ch_cassette_transport(rt->cassette) : t->transport;
    struct ch_transport *before = tapes ? ch_cassette_reach(rt->cassette, t->transport) : NULL;
    ch_transport_start(to, http, &handler, c);
    ch_loop_hold(rt->loop);
    int rc = ch_loop_run(rt->loop, &c->over);
    ch_loop_release(rt->loop);
    if (tapes)
        ch_cassette_reach(rt->cassette, before);
    return rc;
}

int ch_why_ask(chela_runtime *rt, struct ch_target *t, struct ch_sv neutral, bool no_stream,
               struct ch_buf *out, struct ch_why_outcome *outcome, struct chela_error *err) {
    struct why_call c = {.loop = rt->loop};
    struct ch_http_request http = {0};
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO wire = {0};
    struct ch_sv body;
    const char *key;
    ch_target_cooling(t, &rt->providers.cooldowns, ch_mono_ms(ch_loop_clock(rt->loop)), &key);
    t->ep.api_key = key;
    struct ch_model_request req = {
        .endpoint = &t->ep, .model = ch_sv_str(t->model), .no_stream = no_stream};
    int rc = ch_wire_encode_body(t->ep.codec, ch_sv_str(t->model), neutral, &wire, &body, err);
    if (rc == 0)
        rc = t->ep.codec->http(&req, &arena, &http, err);
    if (rc < 0)
        return rc;
    http.body = &body;
    http.nbody = 1;
    http.enough = &c.decoder.stopped;
    rc = ch_target_aws_sign(t, ch_now_ms(ch_loop_clock(rt->loop)), &arena, &http, err);
    if (rc < 0)
        return rc;
    ch_decoder_init_for(&c.decoder, &t->ep, ch_sv_str(t->model), server_tools_of(neutral, &arena),
                        why_ignore, &c);
    rc = send_and_wait(rt, t, &http, &c);
    if (rc == 0)
        rc = take_decision(&c, t, out, err);
    outcome->usage = c.decoder.reply.usage;
    outcome->refused = c.decoder.reply.stop == CH_STOP_REFUSAL;
    ch_decoder_release(&c.decoder);
    return rc;
}
