/* shape.h -- truncates a long text for a model.
 *
 * A result may take a limited part of the model's context. Longer text is cut where the
 * loss is smallest: JSON by whole records, other text in its middle or at its end, at a
 * line end if one is near. A note tells the model what is missing and how to get it; the
 * whole text is saved to a file that the model can read (spill.h).
 *
 * Room is counted in characters and in tokens: an ASCII character counts as a quarter of a
 * token, any other character as one token. */
#ifndef CH_TOOL_SHAPE_H
#define CH_TOOL_SHAPE_H
#include <stdint.h>

#include "base/buf.h"

struct ch_shape {
    int64_t window;        /* the model's context in tokens; 0: unknown */
    unsigned records;      /* records kept of a truncated JSON array; 0: the default */
    bool tail;             /* always keep the end of the text */
    const char *last;      /* line that ends the result, whatever is cut; NULL: none */
    const char *tool;      /* tool that produced the text; may be NULL */
    const char *workspace; /* folder for the full text; NULL: do not save. Blocks if set */
};

struct ch_shape_room {
    uint64_t chars;
    uint64_t cost; /* in quarters of a token */
};

/* The room of one result in a context window. */
struct ch_shape_room ch_room_of(int64_t window);
struct ch_shape_room ch_room_needed(struct ch_sv text);
static inline bool ch_room_holds(struct ch_shape_room room, struct ch_shape_room size) {
    return size.chars <= room.chars && size.cost <= room.cost;
}

/* The room left when `chars` ASCII characters are reserved. */
struct ch_shape_room ch_room_less(struct ch_shape_room room, uint64_t chars);

/* Consume room for one character, given its first byte; false if none is left. */
bool ch_room_spend(struct ch_shape_room *room, char first);

/* The longest prefix of text that fits, cut at a line end if one is near. */
struct ch_sv ch_room_start(struct ch_shape_room room, struct ch_sv text);

/* Append the shaped text: valid UTF-8, no escape sequences, at most
 * ch_room_of(how->window). lost: number of bytes dropped earlier, counted in the note. True
 * if anything is missing. */
bool ch_shape_text(const struct ch_shape *how, struct ch_sv text, uint64_t lost,
                   struct ch_buf *out);

#endif
