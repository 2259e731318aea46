/* chat_room_notes.h -- the state of a room across processes: its reply propensity and the
 * lines that were decided about. */
#ifndef CH_GATEWAY_CHAT_ROOM_NOTES_H
#define CH_GATEWAY_CHAT_ROOM_NOTES_H
#include "gateway/chat/chat_room.h"

/* True: lines must wait, because the room's note is being read, for the first time or again
 * because another gateway may have written it; then r->ready is called. */
bool ch_chat_room_notes_read(struct ch_chat_room *r);
/* Ends the reading in progress; the service is closed. */
void ch_chat_room_notes_stop_reading(struct ch_chat_service *chat);
/* Applies settings of the agent that a reload has changed. */
void ch_chat_room_notes_renew(struct ch_chat_room *r);
/* Writes the note with the next transaction, without a sync of its own. Later: once for all
 * changes of this turn of the loop. */
void ch_chat_room_notes_write(struct ch_chat_room *r);
void ch_chat_room_notes_write_later(struct ch_chat_room *r);

/* Lines that were decided about, by the digest of their id. */
uint64_t ch_chat_room_notes_digest(const char *id);
bool ch_chat_room_notes_is_decided(const struct ch_decided_lines *d, uint64_t id);
void ch_chat_room_notes_add_decided(struct ch_decided_lines *d, uint64_t id);

#endif
