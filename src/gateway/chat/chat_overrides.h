/* chat_overrides.h -- settings that people choose in a chat: /model and /reasoning. */
#ifndef CH_GATEWAY_CHAT_OVERRIDES_H
#define CH_GATEWAY_CHAT_OVERRIDES_H
#include "gateway/chat/chat_event.h"

/* Writes the overrides of a session into the patch of its agent; texts are borrowed. */
void ch_chat_overrides_apply(const struct ch_chat_service *chat, const char *session,
                             struct ch_agent_override *out);
/* The session that a note of the store holds overrides for; NULL: another kind of note. */
const char *ch_chat_overrides_session_of_note(const char *note);
/* A read of the store: restore is called for each note. The end removes the overrides that have
 * no note any more. */
void ch_chat_overrides_begin_read(struct ch_chat_service *chat);
void ch_chat_overrides_restore(struct ch_chat_service *chat, const char *session,
                               struct ch_sv data);
void ch_chat_overrides_end_read(struct ch_chat_service *chat);
void ch_chat_overrides_release(struct ch_chat_service *chat);

/* The commands; each answers the event. */
void ch_chat_overrides_model_command(struct ch_chat_event *e, struct ch_sv rest);
void ch_chat_overrides_reasoning_command(struct ch_chat_event *e, struct ch_sv rest);

#endif
