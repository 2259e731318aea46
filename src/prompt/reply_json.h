/* reply_json.h -- finds the JSON values in a reply of a model.
 *
 * A reply may hold words, a fence or comments around and inside the JSON. The text is searched
 * from left to right for objects and lists. The inside of a value that was read is not searched
 * again, so the search is linear apart from the few candidates that are parsed. A truncated value
 * is never read, and neither is a list inside of one: half an instruction may mean something
 * else. */
#ifndef CH_PROMPT_REPLY_JSON_H
#define CH_PROMPT_REPLY_JSON_H
#include "base/arena.h"
#include "json/json.h"

struct ch_reply_json { /* zeroed, but for text */
    struct ch_sv text;   /* what is left to search; must live as long as the values */
    unsigned tried;      /* candidates that were parsed */
    bool inside;         /* inside of a truncated value */
    bool corrected;      /* the last value held comments or small mistakes, which were removed */
    const char *problem; /* why the last candidate was not read; NULL: there was none */
};

/* The next complete object or list, in the arena; NULL: there is none, or the limit of candidates
 * is reached. */
const struct ch_json *ch_reply_json_next(struct ch_reply_json *r, struct ch_arena *a);

#endif
