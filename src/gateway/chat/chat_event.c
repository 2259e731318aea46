/* chat_event.c -- see chat_event.h. */
#include "gateway/chat/chat_event.h"

#include "base/log.h"
#include "gateway/chat/chat_service.h"
#include "gateway/lane/lane.h"
#include "gateway/request/gateway_state.h"

struct ch_chat_event *ch_chat_event_new(struct ch_chat_service *chat) {
    struct ch_chat_event *e = ch_alloc(sizeof(*e));
    e->chat = chat;
    ch_list_add(&chat->events, &e->link);
    return e;
}

void ch_chat_event_drop(struct ch_chat_event *e) {
    ch_list_del(&e->link);
    ch_list_del(&e->room_link);
    ch_list_del(&e->wait.link);
    ch_list_del(&e->budget.link);
    ch_list_del(&e->turn.link);
    ch_lane_unwatch(&e->watcher);
    ch_arena_release(&e->arena);
    ch_free(e);
}

void ch_chat_event_settle(struct ch_chat_event *e) {
    ch_lane_inbox_settle(e->chat->gw, e->in.session, e->in.id, NULL, NULL);
    ch_chat_event_drop(e);
}

void ch_chat_event_say(const struct ch_chat_event *e, const char *text) {
    struct chela_error err = {0};
    CH_BUF_AUTO key = {0};
    ch_buf_addf(&key, "%s:answer", e->in.id);
    struct chela_outbound m =
        CHELA_OUTBOUND(.key = ch_buf_str(&key), .session = e->in.session,
                       .channel = e->chat->channel->ops->name, .to = e->in.to, .text = text);
    if (chela_outbox_put(e->chat->gw->rt, &m, NULL, NULL, &err) < 0)
        ch_log(CH_LOG_WARN, "gateway", "the reply to message %s cannot be sent: %s", e->in.id,
               err.message);
}

void ch_chat_event_reply(struct ch_chat_event *e, const char *text) {
    ch_chat_event_say(e, text);
    ch_chat_event_settle(e);
}

void ch_chat_event_show_working(struct ch_chat_event *e, bool at_work) {
    e->shows_working = at_work;
    ch_channel_working(e->chat->channel, &e->in, at_work);
}
