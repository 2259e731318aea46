/* chat_event.c -- see chat_event.h. */
#include "gateway/chat/chat_event.h"

#include "base/log.h"
#include "gateway/chat/chat_service.h"
#include "gateway/lane/lane.h"
#include "gateway/request/gateway_state.h"

struct ch_chat_event *ch_chat_event_new(struct ch_chat_service *chat) {
    struct ch_chat_event *p = ch_alloc(sizeof(*p));
    p->chat = chat;
    ch_list_add(&chat->events, &p->link);
    return p;
}

void ch_chat_event_drop(struct ch_chat_event *p) {
    ch_list_del(&p->link);
    ch_list_del(&p->room_link);
    ch_list_del(&p->wait.link);
    ch_lane_unwatch(&p->watcher);
    ch_arena_release(&p->arena);
    ch_free(p);
}

void ch_chat_event_settle(struct ch_chat_event *p) {
    chela_inbox_settle(p->chat->gw->rt, p->in.id, NULL);
    ch_chat_event_drop(p);
}

void ch_chat_event_reply(struct ch_chat_event *p, const char *text) {
    struct chela_error err = {0};
    CH_BUF_AUTO key = {0};
    ch_buf_addf(&key, "%s:answer", p->in.id);
    struct chela_outbound m = CHELA_OUTBOUND(.key = ch_buf_str(&key), .session = p->in.session,
                                             .channel = p->chat->channel->ops->name,
                                             .to = p->in.to, .text = text);
    if (chela_outbox_put(p->chat->gw->rt, &m, NULL, NULL, &err) < 0)
        ch_log(CH_LOG_WARN, "gateway", "the reply to message %s cannot be sent: %s", p->in.id,
               err.message);
    ch_chat_event_settle(p);
}

void ch_chat_event_show_working(struct ch_chat_event *p, bool at_work) {
    const struct ch_channel_ops *ops = p->chat->channel->ops;
    p->shows_working = at_work;
    if (ops->working)
        ops->working(p->chat->channel, &p->in, at_work);
}
