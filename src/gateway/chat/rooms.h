/* rooms.h -- what rooms.c and room_notes.c share: a chat that an agent listens to. */
#ifndef CH_GATEWAY_ROOMS_H
#define CH_GATEWAY_ROOMS_H
#include "base/limits.h"
#include "chela/heartbeat.h"
#include "gateway/chat/channels.h"

/* Lines that were decided about: what a later process, or another gateway, need
 * not decide again. */
struct ch_had {
    uint64_t *ids; /* owned: digests, a ring; 0: free. All that may be in the inbox, and some */
    size_t cap, next;
};

struct ch_room {
    struct ch_link link; /* in the chat's rooms */
    struct ch_chat *chat;
    char *session; /* owned */
    bool direct;
    chela_willing *willing; /* NULL: its note was not read yet */
    uint64_t settings; /* that it was made with: the companion's serial */
    struct ch_had had;
    struct ch_list heard;     /* parcels that no run has, oldest first */
    size_t nheard;
    struct ch_list taken;     /* those that a run begins with */
    struct ch_parcel *asking; /* the newest of `heard` that is to be answered; NULL: none */
    struct chela_urge urge;   /* and why */
    uint64_t asked;           /* the same as a note has it; 0: none */
    enum chela_urge_reason why;
    int64_t newest, newest_mono; /* line: its time, and when we heard it; 0: none yet */
    int64_t patience;         /* the turn begins by then, however lively the chat; monotonic */
    struct ch_timer quiet;
    struct ch_lane_wait wait;
    struct ch_watcher watcher;
    struct ch_parcel *answering; /* what the run is about; NULL: an earlier process knew */
    bool waiting; /* for the lane */
    bool running;
    bool ended;   /* before its note was read */
    bool reading; /* its note */
    struct ch_task keep;
    uint64_t version, kept; /* of its note: how often it was written, and a digest */
    int64_t fresh;          /* when it was written or read last, monotonic */
};

/* Lines wait until the room's note was read (again, where another gateway may have
 * written it since): then ch_room_ready. False: they need not wait. */
bool ch_room_read(struct ch_room *r);
void ch_room_ready(struct ch_room *r);
void ch_room_renew(struct ch_room *r); /* a reload may have changed the agent's settings */
/* Write its note: with what is stored next, in no hurry. */
void ch_room_keep(struct ch_room *r);
void ch_room_keep_later(struct ch_room *r); /* once for all that happens now */
void ch_room_reading_ends(struct ch_chat *chat); /* the chat is closed */

uint64_t ch_had_digest(const char *id);
bool ch_had(const struct ch_had *h, uint64_t id);
void ch_had_add(struct ch_had *h, uint64_t id);

#endif
