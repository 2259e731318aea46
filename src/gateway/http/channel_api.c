/* channel_api.c -- see channel_api.h. The channel verifies the callback. A received message
 * is stored before the response is sent. */
#include "gateway/http/channel_api.h"

#include "gateway/chat/approval_decision.h"
#include "gateway/chat/channel_probe.h"
#include "gateway/chat/chat_callback.h"
#include "gateway/chat/chat_dispatch.h"
#include "gateway/chat/chat_event.h"
#include "gateway/chat/chat_service.h"
#include "gateway/request/gateway_state.h"
#include "gateway/request/request.h"

static struct chela_text callback_header(const void *request, const char *name) {
    struct ch_sv value =
        ch_inbound_count(request, name) == 1 ? ch_inbound_header(request, name) : ch_sv(NULL, 0);
    return ch_text(value);
}

static void channel_api_respond(struct ch_request *req, const char *type, struct ch_sv text) {
    CH_BUF_AUTO out = {0};
    ch_buf_add_sv(&out, text);
    if (type)
        ch_request_respond(req, 200, type, text);
    else
        ch_request_respond_json(req, 200, &out);
}

static void channel_api_on_disconnect(struct ch_request *req) {
    ((struct ch_chat_event *)req->user)->on_accepted = NULL;
}

static void channel_api_on_accepted(int rc, const struct chela_error *err, void *tag) {
    struct ch_request *req = tag;
    req->on_disconnect = NULL;
    if (rc == 0 || rc == CHELA_EEXIST)
        channel_api_respond(req, NULL, CH_SV("{}"));
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

static void channel_api_judge(struct ch_request *req, struct ch_chat_event *e,
                              struct ch_chat_callback *k,
                              const struct chela_channel_verdict *verdict) {
    if (verdict->later) {
        ch_chat_callback_await(k, req);
        ch_chat_event_drop(e);
        return;
    }
    ch_chat_callback_drop(k);
    if (verdict->arrived) {
        e->in = verdict->arrival;
        channel_api_accept(req, e);
        return;
    }
    if (verdict->decision)
        ch_approval_decision_from_request(req, e->chat, verdict->decision);
    else if (verdict->status == 200)
        channel_api_respond(req, verdict->type, ch_sv_of(verdict->answer));
    else
        ch_request_fail(req, verdict->status, NULL, "%s", verdict->why);
    ch_chat_event_drop(e);
}

void ch_channel_api_receive(struct ch_request *req) {
    chela_gateway *gw = req->gw;
    struct ch_chat_service *chat = ch_chat_service_named(gw, req->param);
    const struct ch_inbound *in = ch_exchange_inbound(req->x);
    struct chela_channel_verdict verdict = {.status = 401};
    if (!chat || chat->leaving || !chat->channel->ops->receive) {
        gw->counters.refused++;
        ch_request_fail(req, 401, NULL, "no such channel");
        return;
    }
    struct ch_chat_callback *k = ch_chat_callback_new(chat);
    struct ch_chat_event *e = ch_chat_event_new(chat);
    struct chela_channel_callback call = {.method = ch_inbound_method(in),
                                          .query = ch_text(req->query),
                                          .header = callback_header,
                                          .request = in,
                                          .body = ch_text(req->body),
                                          .now = ch_now_ms(ch_loop_clock(gw->rt->loop)),
                                          .respond_to = k};
    chat->channel->ops->receive(chat->channel->self, &call, &e->arena, &verdict);
    gw->counters.refused += verdict.status == 401;
    if (verdict.status == 405)
        ch_request_add_header(req, "Allow", "POST");
    channel_api_judge(req, e, k, &verdict);
}

/* --- POST /api/channels/{name}/test {"to"}: {"findings":[...]} */

static void channel_test_on_disconnect(struct ch_request *req) {
    ch_channel_probe_drop(req->user);
}

static void channel_test_respond(struct ch_request *req, const struct ch_channel *c,
                                 const struct ch_channel_probe *p) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    const char *trouble = c ? ch_channel_trouble(c) : "the channel was closed";
    ch_jw_begin(&w, '{');
    ch_jw_kbegin(&w, "findings", '[');
    ch_channel_finding(&w, ch_arena_str(&req->arena, req->param), trouble ? "fail" : "ok",
                       trouble ? trouble : "the gateway finds no problem with the connection",
                       NULL);
    if (p)
        ch_channel_probe_write(p, &w);
    ch_jw_end(&w, ']');
    ch_jw_end(&w, '}');
    ch_request_respond_json(req, 200, &out);
}

static void channel_test_on_done(struct ch_channel_probe *p, void *user) {
    struct ch_request *req = user;
    const struct ch_chat_service *chat = ch_chat_service_named(req->gw, req->param);
    req->on_disconnect = NULL;
    channel_test_respond(req, chat ? chat->channel : NULL, p);
    ch_channel_probe_drop(p);
}

void ch_channel_api_test(struct ch_request *req) {
    const struct ch_chat_service *chat = ch_chat_service_named(req->gw, req->param);
    const struct ch_json *to = ch_json_get(req->json, "to");
    struct ch_sv chat_id = ch_json_str(to);
    struct ch_channel_probe *p;
    struct chela_error err = {0};
    if (!chat || chat->leaving) {
        ch_request_fail(req, 404, NULL, "the gateway has no such channel");
    } else if (!to) {
        channel_test_respond(req, chat->channel, NULL);
    } else if (!chat_id.n || memchr(chat_id.p, 0, chat_id.n)) {
        ch_request_fail(req, 400, NULL, "`to` must be the id of a chat");
    } else if (ch_channel_probe_start(chat->channel, ch_arena_str(&req->arena, chat_id),
                                      channel_test_on_done, req, &p, &err) < 0) {
        ch_request_fail_with(req, &err);
    } else {
        req->user = p;
        req->on_disconnect = channel_test_on_disconnect;
    }
}
