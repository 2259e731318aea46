/* chat_language.h -- the language in which a person of a chat is answered.
 *
 * The language of the channel or of the gateway, if it is set. Otherwise each sender is answered in
 * the language of their own words; a command says nothing about it, so the language of a sender's
 * last words is remembered, for the latest few thousand senders. Loop thread only. */
#ifndef CH_GATEWAY_CHAT_LANGUAGE_H
#define CH_GATEWAY_CHAT_LANGUAGE_H
#include "base/say.h"
#include "gateway/chat/chat_event.h"

/* The language of the sender of an event; never AUTO. */
enum chela_language ch_chat_language(const struct ch_chat_event *e);

/* Replies with a sentence in that language, and settles the event. values: as for ch_say_add. */
void ch_chat_language_reply(struct ch_chat_event *e, enum ch_say key, const struct ch_sv *values,
                            size_t n);
/* The same, without values. */
void ch_chat_language_tell(struct ch_chat_event *e, enum ch_say key);

#endif
