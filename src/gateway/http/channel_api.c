/* channel_api.c -- see channel_api.h. The channel verifies the callback. A received message
 * is stored before the response is sent. */
#include "gateway/http/channel_api.h"

#include "gateway/chat/approval_decision.h"
#include "gateway/chat/chat_dispatch.h"
#include "gateway/chat/chat_event.h"
#include "gateway/chat/chat_service.h"
#include "gateway/request/gateway_state.h"
#include "gateway/request/request.h"

static struct ch_sv callback_header(const void *request, const char *name) {
    return ch_inbound_count(request, name) == 1 ? ch_inbound_header(request, name)
                                                : ch_sv(NULL, 0);
}

static void channel_api_respond(struct ch_request *req, struct ch_sv json) {
    CH_BUF_AUTO out = {0};
    ch_buf_add_sv(&out, json);
    ch_request_respond_json(req, 200, &out);
}

static void channel_api_on_disconnect(struct ch_request *req) {
    ((struct ch_chat_event *)req->user)->on_accepted = NULL;
}

static void channel_api_on_accepted(int rc, const struct chela_error *err, void *tag) {
    struct ch_request *req = tag;
    req->on_disconnect = NULL;
    if (rc == 0 || rc == CHELA_EEXIST)
        channel_api_respond(req, CH_SV("{}"));
    else
        ch_request_fail(req, 503, NULL, "the event cannot be stored: %s",
                        err ? err->message : chela_error_text(rc));
}

static void channel_api_accept(struct ch_request *req, struct ch_chat_event *e) {
    struct chela_error err = {0};
    req->user = e;
    req->on_disconnect = channel_api_on_disconnect;
    if (ch_chat_dispatch_accept(e, channel_api_on_accepted, req, &err) == 0)
        return;
    req->on_disconnect = NULL;
    ch_chat_event_drop(e);
    ch_request_fail_with(req, &err);
}

void ch_channel_api_receive(struct ch_request *req) {
    struct ch_chat_service *chat = ch_chat_service_named(req->gw, req->param);
    const struct ch_inbound *in = ch_exchange_inbound(req->x);
    struct ch_callback call = {.header = callback_header,
                               .request = in,
                               .body = req->body,
                               .json = req->json,
                               .now = ch_now_ms(ch_loop_clock(req->gw->rt->loop))};
    struct ch_verdict verdict = {.status = 401, .why = "no such channel"};
    bool open = chat && !chat->leaving && chat->channel->ops->receive;
    struct ch_chat_event *e = open ? ch_chat_event_new(chat) : NULL;
    if (e)
        chat->channel->ops->receive(chat->channel, &call, &e->arena, &verdict);
    if (verdict.arrived) {
        e->in = verdict.arrival;
        channel_api_accept(req, e);
        return;
    }
    if (verdict.decision) {
        ch_approval_decision_from_request(req, chat, verdict.decision);
        ch_chat_event_drop(e);
        return;
    }
    req->gw->counters.refused += verdict.status == 401;
    if (verdict.status == 200)
        channel_api_respond(req, verdict.answer);
    else
        ch_request_fail(req, verdict.status, NULL, "%s", verdict.why);
    if (e)
        ch_chat_event_drop(e);
}
