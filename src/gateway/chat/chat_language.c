/* chat_language.c -- see chat_language.h.
 *
 * A table of fixed size, without chains: a sender of the same place replaces another one, who is
 * then answered by the words of the message at hand. */
#include "gateway/chat/chat_language.h"

#include "base/mix.h"
#include "gateway/chat/chat_service.h"
#include "gateway/request/gateway_state.h"

static enum chela_language set_language(const struct ch_chat_service *chat) {
    enum chela_language of_channel = chat->channel->language;
    return of_channel ? of_channel : chat->gw->rt->language;
}

enum chela_language ch_chat_language(const struct ch_chat_event *e) {
    enum chela_language found = set_language(e->chat);
    const char *sender = e->in.about.sender_id ? e->in.about.sender_id : "";
    uint32_t id = (uint32_t)ch_hash(0, ch_sv_str(sender));
    struct ch_chat_speaker *s = &e->chat->speakers[id % CH_LEN(e->chat->speakers)];
    if (found)
        return found;
    found = ch_say_language(ch_sv_str(e->in.text ? e->in.text : ""));
    if (found)
        *s = (struct ch_chat_speaker){id, (unsigned char)found};
    else if (s->id == id)
        found = (enum chela_language)s->language;
    return found ? found : CHELA_LANGUAGE_EN;
}

void ch_chat_language_reply(struct ch_chat_event *e, enum ch_say key, const struct ch_sv *values,
                            size_t n) {
    CH_BUF_AUTO text = {0};
    ch_say_add(&text, key, ch_chat_language(e), values, n);
    ch_chat_event_reply(e, ch_buf_str(&text));
}

void ch_chat_language_tell(struct ch_chat_event *e, enum ch_say key) {
    ch_chat_event_reply(e, ch_say(key, ch_chat_language(e)));
}
