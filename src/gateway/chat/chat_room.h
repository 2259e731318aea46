/* chat_room.h -- what rooms.c and room_notes.c share: a chat that an agent listens to. */
#ifndef CH_GATEWAY_ROOMS_H
#define CH_GATEWAY_ROOMS_H
#include "base/limits.h"
#include "chela/heartbeat.h"
#include "gateway/chat/chat_service.h"

/* Lines that were decided about: what a later process, or another gateway, need
 * not decide again. */
struct ch_decided_lines {
    uint64_t *ids; /* owned: digests, a ring; 0: free. All that may be in the inbox, and some */
    size_t cap, next;
};

struct ch_chat_room {
    struct ch_link link; /* in the chat's rooms */
    struct ch_chat_service *chat;
    void (*ready)(struct ch_chat_room *r); /* its note was read */
    char *session;                         /* owned */
    bool direct;
    chela_willing *willing;   /* NULL: its note was not read yet */
    uint64_t settings_serial; /* that it was made with: the companion's serial */
    struct ch_decided_lines decided;
    struct ch_list heard; /* parcels that no run has, oldest first */
    size_t nheard;
    struct ch_list taken;           /* those that a run begins with */
    struct ch_chat_event *pending;  /* the newest of `heard` that is to be answered; NULL: none */
    struct chela_urge pending_urge; /* and why */
    uint64_t pending_digest;        /* the same as a note has it; 0: none */
    enum chela_urge_reason pending_reason;
    int64_t newest, newest_mono; /* line: its time, and when we heard it; 0: none yet */
    int64_t deadline;            /* the turn begins by then, however lively the chat; monotonic */
    struct ch_timer quiet_timer;
    struct ch_lane_wait wait;
    struct ch_lane_watcher watcher;
    struct ch_chat_event *answering; /* what the run is about; NULL: an earlier process knew */
    bool waiting;                    /* for the lane */
    bool running;
    bool ended;   /* before its note was read */
    bool reading; /* its note */
    struct ch_task write_task;
    uint64_t version, written_digest; /* of its note: how often it was written, and a digest */
    int64_t synced_at;                /* when it was written or read last, monotonic */
};

/* Lines wait until the room's note was read (again, where another gateway may have
 * written it since): then r->ready. False: they need not wait. */
bool ch_chat_room_notes_read(struct ch_chat_room *r);
void ch_chat_room_notes_renew(
    struct ch_chat_room *r); /* a reload may have changed the agent's settings */
/* Write its note: with what is stored next, in no hurry. */
void ch_chat_room_notes_write(struct ch_chat_room *r);
void ch_chat_room_notes_write_later(struct ch_chat_room *r); /* once for all that happens now */
void ch_chat_room_notes_stop_reading(struct ch_chat_service *chat); /* the chat is closed */

uint64_t ch_chat_room_notes_digest(const char *id);
bool ch_chat_room_notes_is_decided(const struct ch_decided_lines *h, uint64_t id);
void ch_chat_room_notes_add_decided(struct ch_decided_lines *h, uint64_t id);

#endif
