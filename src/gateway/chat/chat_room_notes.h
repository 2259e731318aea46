/* chat_room_notes.h -- the state of a room across processes: its reply propensity, and the
 * lines for which the decision about a reply was made. */
#ifndef CH_GATEWAY_CHAT_ROOM_NOTES_H
#define CH_GATEWAY_CHAT_ROOM_NOTES_H
#include "gateway/chat/chat_room.h"

/* Reads the room's note from the store, the first time or because another gateway may have
 * changed it. True: the reading has begun; lines must wait until r->ready is called. */
bool ch_chat_room_notes_read(struct ch_chat_room *r);
/* Ends the reading in progress; the service is closed. */
void ch_chat_room_notes_stop_reading(struct ch_chat_service *chat);
/* Applies settings of the agent that a reload has changed. */
void ch_chat_room_notes_renew(struct ch_chat_room *r);
/* Writes the note with the next transaction, without a sync of its own.
 * ch_chat_room_notes_write_later writes once for all changes of this turn of the loop. */
void ch_chat_room_notes_write(struct ch_chat_room *r);
void ch_chat_room_notes_write_later(struct ch_chat_room *r);

/* The set of lines for which the reply decision was made, by the digest of their id. */
uint64_t ch_chat_room_notes_digest(const char *id);
bool ch_chat_room_notes_is_decided(const struct ch_decided_lines *d, uint64_t id);
void ch_chat_room_notes_add_decided(struct ch_decided_lines *d, uint64_t id);

#endif
