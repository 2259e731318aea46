/* pull.h -- read JSON without building a tree, for hot paths.
 *
 * The caller walks the text: it enters a container, looks at each member, and
 * takes or skips each value. Skipped values are checked for syntax, but nothing
 * is allocated for them. A string without escapes is a slice of the text. Other
 * strings are decoded into a scratch buffer that is allocated once, so every
 * string stays valid until the next ch_pull_init with that scratch.
 *
 *   struct ch_pull p;
 *   ch_pull_init(&p, text, &scratch);          always CH_JSON_REPLACE mode
 *   if (ch_pull_enter(&p, '{'))
 *       while (ch_pull_key(&p, &key)) {
 *           if (ch_sv_is(key, "type")) ch_pull_str(&p, &type);
 *           else ch_pull_skip(&p);
 *       }
 *   if (ch_pull_failed(&p)) ...
 *
 * After ch_pull_key or ch_pull_item returned true, the caller must take, skip,
 * or enter and leave exactly one value. If the value has another type than
 * requested, the call skips it, returns false and leaves *out unchanged; the
 * walk continues. After a failure every call returns false, so a walk may
 * ignore results and check once. Text after the outermost value is a failure,
 * detected when that value ends. A caller that stops early has checked only the
 * part it walked. */
#ifndef CH_JSON_PULL_H
#define CH_JSON_PULL_H
#include "base/buf.h"
#include "base/limits.h"
#include "json/json.h"

struct ch_pull {
    const char *at, *end;
    struct ch_buf *scratch; /* borrowed; max 0 or at least 3 times the text's length */
    bool scratch_ready;     /* scratch has room for all strings of this text */
    bool failed;
    bool fresh;     /* just entered a container: no comma expected */
    unsigned depth; /* containers entered and not yet left */
};

void ch_pull_init(struct ch_pull *p, struct ch_sv text, struct ch_buf *scratch);
static inline bool ch_pull_failed(const struct ch_pull *p) {
    return p->failed;
}

/* First byte of the next value: { [ " t f n - 0..9; 0 at the end. */
char ch_pull_peek(struct ch_pull *p);
bool ch_pull_enter(struct ch_pull *p, char open);       /* '{' or '[' */
bool ch_pull_key(struct ch_pull *p, struct ch_sv *key); /* false: object ended */
bool ch_pull_item(struct ch_pull *p);                   /* false: array ended */
bool ch_pull_str(struct ch_pull *p, struct ch_sv *out);
/* Take a string member or item; raw: the source text between the quotes, a
 * slice of the text. */
bool ch_pull_str_raw(struct ch_pull *p, struct ch_sv *out, struct ch_sv *raw);
bool ch_pull_int(struct ch_pull *p, int64_t *out);
bool ch_pull_bool(struct ch_pull *p, bool *out);
void ch_pull_skip(struct ch_pull *p);
/* The end of the member value that begins at `at`; NULL if the value is not
 * valid. */
const char *ch_pull_past(const char *at, const char *end);
/* The source text of the next value of any type. */
bool ch_pull_raw(struct ch_pull *p, struct ch_sv *out);

#endif
