/* side_query.c -- see side_query.h. */
#include "agent/context/side_query.h"

#include "agent/context/repair.h"
#include "agent/handle/listener.h"
#include "agent/journal/request_record.h"
#include "model/provider/target_aws.h"
#include "model/provider/target.h"
#include <stdio.h>

#include "base/redact.h"
#include "model/codec/decoder.h"
#include "model/codec/encoder.h"

#define REPLY_SHARE 4 /* share of the context for the reply, if the service requires a limit */

struct ch_side_query {
    struct ch_loop *loop;
    chela_run *run;
    const char *role;
    struct ch_target *target;
    int64_t start; /* ms, wall clock */
    unsigned turn;
    char *system;         /* owned */
    struct ch_msg **msgs; /* owned */
    size_t messages;
    int64_t max_output_tokens;
    const struct ch_model_request *given; /* the whole request, while the query starts */
    bool once;            /* it was given whole: a refused one does not go out again */
    struct ch_repair repair;
    bool *gone; /* set when the query is freed; NULL: nobody asks */
    struct ch_http_call *call;
    struct ch_encoder encoder;
    struct ch_decoder decoder;
    struct ch_arena arena;
    struct ch_http_request http;
    struct ch_sv body[3];
    void (*done)(struct ch_sv text, const char *failed, const struct ch_usage *usage, void *user);
    void *user;
};

static void free_msgs(struct ch_msg **msgs, size_t n) {
    for (size_t i = 0; i < n; i++)
        ch_msg_free(msgs[i]);
}

static void free_aside(struct ch_side_query *a) {
    if (a->gone)
        *a->gone = true;
    free_msgs(a->msgs, a->once ? 0 : a->messages);
    ch_free(a->msgs);
    ch_free(a->system);
    ch_repair_release(&a->repair);
    ch_decoder_release(&a->decoder);
    ch_encoder_release(&a->encoder);
    ch_arena_release(&a->arena);
    ch_free(a);
}

static void ignore(const struct ch_model_event *ev, void *user) {
    (void)ev;
    (void)user;
}

static void side_query_on_head(const struct ch_http_head *head, void *user) {
    ch_decoder_head(&((struct ch_side_query *)user)->decoder, head);
}

static void side_query_on_data(struct ch_sv data, void *user) {
    ch_decoder_feed(&((struct ch_side_query *)user)->decoder, data);
}

static void side_query_add_text(const struct ch_msg *m, struct ch_buf *out) {
    for (uint32_t i = 0; m && i < m->nblocks; i++)
        if (m->blocks[i].type == CH_BLOCK_TEXT)
            ch_buf_add_sv(out, m->blocks[i].text);
}

static void side_query_on_done(const struct chela_error *err, void *user);

static int side_query_encode(struct ch_side_query *a, struct chela_error *err) {
    const chela_agent *agent = a->run->session->agent;
    const char *key;
    int64_t now = ch_now_ms(ch_loop_clock(a->loop));
    ch_learning_apply(&agent->rt->providers, a->target, now);
    ch_target_cooling(a->target, &agent->rt->providers.cooldowns,
                      ch_mono_ms(ch_loop_clock(a->loop)), &key);
    a->target->ep.api_key = key;
    struct ch_model_request req = {.endpoint = &a->target->ep,
                                   .model = ch_sv_str(a->target->model),
                                   .system = ch_sv_str(a->system),
                                   .messages = (const struct ch_msg *const *)a->msgs,
                                   .nmessages = a->messages,
                                   .max_output_tokens = a->max_output_tokens,
                                   .kept_free = ch_target_window(a->target) / REPLY_SHARE,
                                   .cache = CH_CACHE_OFF,
                                   .revision = 1};
    if (a->given)
        req = *a->given;
    ch_learnt_omit(&req);
    ch_repair_begin(&a->repair, &req);
    ch_encoder_clear(&a->encoder);
    int rc = ch_encoder_update(&a->encoder, &req, err);
    if (rc == 0)
        rc = req.endpoint->codec->http(&req, &a->arena, &a->http, err);
    if (rc < 0)
        return rc;
    ch_request_record(a->run, &(struct ch_request_made){.req = &req,
                                                        .encoder = &a->encoder,
                                                        .origin = a->role,
                                                        .role = a->role});
    ch_encoder_body(&a->encoder, a->body);
    a->http.body = a->body;
    a->http.nbody = CH_LEN(a->body);
    a->http.timeouts = agent->timeouts;
    ch_listeners_add_context(a->run,
                             &(struct ch_listener_query){.role = a->role,
                                                         .target = a->target,
                                                         .messages = a->messages,
                                                         .turn = a->turn},
                             &a->arena, &a->http);
    return ch_target_aws_sign(a->target, now, &a->arena, &a->http, err);
}

static int side_query_send(struct ch_side_query *a, struct chela_error *err) {
    static const struct ch_http_handler handler = {side_query_on_head, side_query_on_data,
                                                   side_query_on_done};
    int rc = side_query_encode(a, err);
    if (rc < 0)
        return rc;
    ch_decoder_init_for(&a->decoder, &a->target->ep, ch_sv_str(a->target->model), CH_SV(""),
                        ignore, a);
    a->start = ch_now_ms(ch_loop_clock(a->loop));
    a->http.enough = &a->decoder.stopped;
    a->call = ch_transport_start(a->target->transport, &a->http, &handler, a);
    return 0;
}

static void tell_listeners(const struct ch_side_query *a, const char *failed) {
    ch_listeners_queried(a->run,
                         &(struct ch_listener_query){.role = a->role,
                                                     .target = a->target,
                                                     .messages = a->messages,
                                                     .turn = a->turn,
                                                     .start = a->start,
                                                     .end = ch_now_ms(ch_loop_clock(a->loop)),
                                                     .reply = &a->decoder.reply,
                                                     .error = ch_sv_str(failed)});
}

/* The call failed. True: it goes out again in another form, or the query was freed. */
static bool side_query_again(struct ch_side_query *a, struct ch_buf *failed) {
    struct ch_reply *r = &a->decoder.reply;
    struct chela_error err = {0};
    bool gone = false;
    a->gone = &gone;
    bool learnt = ch_repair_learn(a->run, a->target, &a->repair, r, ch_buf_str(failed));
    if (gone)
        return true;
    a->gone = NULL;
    if (!learnt) {
        CH_BUF_AUTO both = {0};
        if (ch_repair_give_up(a->run, a->target, &a->repair, r, &both)) {
            ch_buf_clear(failed);
            ch_buf_add_sv(failed, ch_buf_sv(&both));
        }
        return false;
    }
    ch_decoder_release(&a->decoder);
    a->decoder = (struct ch_decoder){0};
    if (side_query_send(a, &err) == 0)
        return true;
    ch_buf_clear(failed);
    ch_buf_add_str(failed, err.message);
    return false;
}

static void side_query_on_done(const struct chela_error *err, void *user) {
    struct ch_side_query *a = user;
    CH_BUF_AUTO text = {0};
    CH_BUF_AUTO failed = {0};
    a->call = NULL;
    ch_decoder_end(&a->decoder, err, ch_now_ms(ch_loop_clock(a->loop)));
    struct ch_reply *r = &a->decoder.reply;
    if (r->error.cls == CH_ERR_NONE) {
        side_query_add_text(r->msg, &text);
        ch_repair_worked(a->run, a->target, &a->repair);
    } else {
        ch_buf_addf(&failed, "%s: %.*s", a->target->spec, CH_SV_FMT(r->error.message));
        ch_redact(failed.p);
        ch_request_record_failure(a->run, a->role, r, ch_sv_str(failed.p), 0);
    }
    tell_listeners(a, ch_buf_str(&failed));
    if (failed.n && !a->once && side_query_again(a, &failed))
        return;
    if (failed.n)
        ch_redact(failed.p);
    a->done(ch_buf_sv(&text), ch_buf_str(&failed), &a->decoder.reply.usage, a->user);
    free_aside(a);
}

int ch_side_query_start(const struct ch_side_query_opts *o, struct ch_side_query **out,
                        struct chela_error *err) {
    struct ch_side_query *a = ch_alloc(sizeof(*a));
    a->loop = o->run->loop;
    a->run = o->run;
    a->role = o->role;
    a->target = o->target;
    a->done = o->done;
    a->user = o->user;
    a->turn = o->run->m.turns;
    a->system = ch_strndup(o->system.p ? o->system.p : "", o->system.n);
    a->msgs = ch_memdup(o->msgs, o->n * sizeof(*a->msgs));
    a->given = o->req;
    a->once = o->req != NULL;
    a->messages = o->req ? o->req->nmessages - o->req->from : o->n;
    a->max_output_tokens = o->max_output_tokens;
    int rc = side_query_send(a, err);
    a->given = NULL;
    if (rc < 0)
        free_aside(a);
    else
        *out = a;
    return rc;
}

struct ch_reply *ch_side_query_reply(struct ch_side_query *a) {
    return &a->decoder.reply;
}

void ch_side_query_cancel(struct ch_side_query *a) {
    if (!a)
        return;
    if (a->call)
        ch_transport_cancel(a->target->transport, a->call);
    free_aside(a);
}
