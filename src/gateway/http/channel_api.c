/* channel_api.c -- POST /channels/{name}/events: a chat service calls. The channel
 * verifies the call; what arrived is in the store before the answer is sent. */
#include "gateway/chat/channels.h"
#include "gateway/http/routes.h"

static struct ch_sv header_of(const void *request, const char *name) {
    return ch_inbound_count(request, name) == 1 ? ch_inbound_header(request, name)
                                                : ch_sv(NULL, 0);
}

static void answer(struct ch_visit *v, struct ch_sv json) {
    CH_BUF_AUTO out = {0};
    ch_buf_add_sv(&out, json);
    ch_visit_json(v, 200, &out);
}

static void on_left(struct ch_visit *v) {
    ((struct ch_parcel *)v->user)->done = NULL;
}

static void on_accepted(int rc, const struct chela_error *err, void *tag) {
    struct ch_visit *v = tag;
    v->left = NULL;
    if (rc == 0 || rc == CHELA_EEXIST)
        answer(v, CH_SV("{}"));
    else
        ch_visit_fail(v, 503, NULL, "the event cannot be stored: %s",
                      err ? err->message : chela_error_text(rc));
}

static void accept_event(struct ch_visit *v, struct ch_parcel *p) {
    struct chela_error err = {0};
    v->user = p;
    v->left = on_left;
    if (ch_parcel_accept(p, on_accepted, v, &err) == 0)
        return;
    v->left = NULL;
    ch_parcel_drop(p);
    ch_visit_error(v, &err);
}

void ch_channel_call(struct ch_visit *v) {
    struct ch_chat *chat = ch_chat_named(v->gw, v->param);
    const struct ch_inbound *in = ch_exchange_inbound(v->x);
    struct ch_callback call = {.header = header_of,
                               .request = in,
                               .body = v->body,
                               .json = v->json,
                               .now = ch_now_ms(ch_loop_clock(v->gw->rt->loop))};
    struct ch_verdict verdict = {.status = 401, .why = "there is no such channel"};
    bool open = chat && !chat->leaving && chat->channel->ops->receive;
    struct ch_parcel *p = open ? ch_parcel_new(chat) : NULL;
    if (p)
        chat->channel->ops->receive(chat->channel, &call, &p->arena, &verdict);
    if (verdict.arrived) {
        p->in = verdict.arrival;
        accept_event(v, p);
        return;
    }
    if (verdict.decision) {
        ch_desk_visit(v, chat, verdict.decision);
        ch_parcel_drop(p);
        return;
    }
    v->gw->counters.refused += verdict.status == 401;
    if (verdict.status == 200)
        answer(v, verdict.answer);
    else
        ch_visit_fail(v, verdict.status, NULL, "%s", verdict.why);
    if (p)
        ch_parcel_drop(p);
}
