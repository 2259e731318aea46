/* chat_notes.h -- notes that a channel keeps in the store across processes. */
#ifndef CH_GATEWAY_CHAT_NOTES_H
#define CH_GATEWAY_CHAT_NOTES_H
#include "gateway/chat/chat_service.h"

/* Stores a note, or deletes it if data.p is NULL; `note` of struct ch_channel_gateway, user is
 * the service. */
void ch_chat_notes_put(const char *id, struct ch_sv data, chela_accepted_fn *done, void *tag,
                       void *user);
/* "CHANNEL:ID" of a note of the store; NULL: another kind of note. */
const char *ch_chat_notes_owner(const char *note);

/* The store is about to be read; one of its notes; all of them were read. Notes that were
 * deleted meanwhile are not passed on. */
void ch_chat_notes_begin_read(struct ch_chat_service *chat);
void ch_chat_notes_pass_on(struct ch_chat_service *chat, const char *owner, struct ch_sv data);
void ch_chat_notes_end_read(struct ch_chat_service *chat);

/* Gives a new channel the notes that its predecessor wrote in this process. */
void ch_chat_notes_replay_own(struct ch_chat_service *chat);
void ch_chat_notes_release(struct ch_chat_service *chat);

#endif
