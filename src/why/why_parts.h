/* why_parts.h -- a request as parts that can be taken away. */
#ifndef CH_WHY_PARTS_H
#define CH_WHY_PARTS_H
#include "trace/request.h"

enum ch_why_place { CH_WHY_SYSTEM, CH_WHY_TOOL, CH_WHY_BLOCK };

struct ch_why_part {
    const char *kind;    /* "section", "tool", "message", "result", "note", "question"; static */
    struct ch_sv origin; /* section, tool, or role of the message */
    enum ch_why_place place;
    size_t index, block; /* index of the tool, or of the message and its block */
    size_t at, size;     /* in the system prompt or the text of the block */
    struct ch_sv text;
    unsigned rank; /* parts with a low rank are tried first */
};

struct ch_why_parts {
    struct ch_arena arena;
    struct ch_buf neutral;
    const struct ch_json *request; /* the parsed request */
    struct ch_why_part *list;      /* owned, by rank */
    size_t n, cap;
    size_t questions; /* number of parts of the newest input, which are the last ones */
};

/* called: tools of the decision, which are not taken away; a decision of them without them
 * cannot be. */
int ch_why_parts_split(struct ch_why_parts *p, const struct ch_request_past *past,
                       const struct ch_sv *called, size_t ncalled, struct chela_error *err);
void ch_why_parts_release(struct ch_why_parts *p);

/* Appends the request without the marked parts. */
void ch_why_parts_write(const struct ch_why_parts *p, const bool *gone, struct ch_buf *out);

#endif
