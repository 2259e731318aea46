/* pull.h -- reading JSON without building a tree, for hot paths.
 *
 * The caller walks the text: enter a container, look at each member, and skip
 * or take what it wants. Skipped parts are still checked, but nothing is
 * allocated for them. A string without escapes is a slice of the text, others
 * are decoded into a scratch buffer that is made large enough once, so every
 * string taken stays valid until the next ch_pull_init with that scratch.
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
 * After ch_pull_key or ch_pull_item returned true, exactly one value must be
 * taken, entered and left, or skipped. A value of another type than asked for
 * has been skipped: the call returns false, *out is untouched, the walk goes
 * on. After a failure every call returns false, so a walk may ignore results
 * and check once. Text after the outermost value is a failure, noticed when
 * that value ends; who leaves early has checked only what was passed. */
#ifndef CH_JSON_PULL_H
#define CH_JSON_PULL_H
#include "base/buf.h"
#include "base/limits.h"
#include "json/json.h"

struct ch_pull {
    const char *at, *end;
    struct ch_buf *scratch; /* borrowed; no cap, or 3 times the text's length */
    bool scratch_ready;     /* has room for all strings of this text */
    bool failed;
    bool fresh;     /* just entered a container: no comma expected */
    unsigned depth; /* containers entered and not left */
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
/* The same of a member or an item; raw: what stands between the quotes, a slice
 * of the text. */
bool ch_pull_str_raw(struct ch_pull *p, struct ch_sv *out, struct ch_sv *raw);
bool ch_pull_int(struct ch_pull *p, int64_t *out);
bool ch_pull_bool(struct ch_pull *p, bool *out);
void ch_pull_skip(struct ch_pull *p);
/* Past the value, a member's, that begins at `at`; NULL: it is not sound. */
const char *ch_pull_past(const char *at, const char *end);
/* The source text of the next value, whatever it is. */
bool ch_pull_raw(struct ch_pull *p, struct ch_sv *out);

#endif
