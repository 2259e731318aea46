/* shape.h -- what a model is shown of a long text.
 *
 * A result may take so much of the model's context and no more. What does not
 * fit is cut where it hurts least: JSON by whole records, other text in its
 * middle or at its end, at a line's end if one is near. The model is told what
 * is missing and how to get it; the whole text goes to a file that it can
 * read (spill.h).
 *
 * Room is counted in characters and in tokens: a character of ASCII is taken
 * for a quarter of a token, any other for one. */
#ifndef CH_TOOL_SHAPE_H
#define CH_TOOL_SHAPE_H
#include <stdint.h>

#include "base/buf.h"

struct ch_shape {
    int64_t window;        /* the model's context in tokens; 0: unknown */
    unsigned records;      /* shown of a JSON array that is cut; 0: the default */
    bool tail;             /* its end matters, whatever it says */
    const char *tool;      /* whose result it is; may be NULL */
    const char *workspace; /* where to spill; NULL: nowhere. Blocks if set */
};

struct ch_shape_room {
    uint64_t chars;
    uint64_t cost; /* in quarters of a token */
};

/* What one result may take of a context window. */
struct ch_shape_room ch_room_of(int64_t window);
struct ch_shape_room ch_room_needed(struct ch_sv text);
static inline bool ch_room_holds(struct ch_shape_room room, struct ch_shape_room size) {
    return size.chars <= room.chars && size.cost <= room.cost;
}

/* What is left when `chars` characters of ASCII are set aside. */
struct ch_shape_room ch_room_less(struct ch_shape_room room, uint64_t chars);

/* Use room up by one character, given its first byte; false when there is none
 * for it. */
bool ch_room_spend(struct ch_shape_room *room, char first);

/* The longest start of text that fits, ending with a line if one ends near. */
struct ch_sv ch_room_start(struct ch_shape_room room, struct ch_sv text);

/* Append what is shown of text: valid UTF-8, no escape sequences, at most
 * ch_room_of(how->window). lost: bytes that were dropped before and only count
 * in the note. True if anything is missing. */
bool ch_shape_text(const struct ch_shape *how, struct ch_sv text, uint64_t lost,
                   struct ch_buf *out);

#endif
