/* delta_fast_path.h -- the short way through a stream's deltas.
 *
 * Nearly all events of a stream differ in one string only, and in what nobody
 * reads: padding, a sequence number, the id of an event. A template keeps the bytes
 * around these of an event that was read in full; an event with the same bytes
 * around a sound string needs no reading: it says the same about another piece
 * of text. What differs in any other byte does not match and is read in full.
 * Where that happens, the next template leaves out whatever its reader passed
 * over: members that nobody foresaw may differ, too. */
#ifndef CH_MODEL_DELTA_FAST_PATH_H
#define CH_MODEL_DELTA_FAST_PATH_H
#include "base/buf.h"
#include "base/sv.h"

/* The JSON string whose contents begin at `at`: its decoded contents, a slice
 * of the text or in scratch, and where it ends, past the quote. NULL when it
 * has no end or is malformed. */
const char *ch_quick_string(const char *at, const char *end, struct ch_buf *scratch,
                            struct ch_sv *out);

#define CH_TEMPLATE_HOLES 24

/* The values that the reader of an event passed over, whatever they are. */
struct ch_template_unread {
    struct ch_sv list[8];
    size_t n; /* what finds no room is not noted */
};
struct ch_pull;
/* Skip the next value, and note that. */
void ch_template_skip(struct ch_template_unread *u, struct ch_pull *p);

/* A zeroed struct has learnt nothing. */
struct ch_template {
    struct ch_buf bytes; /* the event without what is in the holes */
    struct ch_template_hole {
        size_t at; /* in bytes */
        enum ch_template_kind {
            CH_HOLE_PIECE,
            CH_HOLE_AGAIN, /* the piece once more, byte for byte */
            CH_HOLE_PADDING,
            CH_HOLE_NUMBER,
            CH_HOLE_VALUE,
        } kind;
    } holes[CH_TEMPLATE_HOLES];
    size_t nholes;
    /* The object of numbers: the holes in it, and how many bytes it has before
     * the first and after the last. */
    size_t first_figure, nfigures, lead, trail;
    unsigned missed; /* events learnt in vain since the last match */
};

/* What an event says: both are slices of it, or piece is in scratch. */
struct ch_template_match {
    struct ch_sv piece;
    struct ch_sv figures;
};

void ch_template_release(struct ch_template *t);
/* An event came that has to be read in full. */
void ch_template_clear(struct ch_template *t);

/* An event that was read in full, and what it is all said by; {NULL,0} and NULL
 * where there is nothing. The slices are of data. */
struct ch_template_event {
    struct ch_sv data;
    struct ch_sv piece;    /* the contents of a string, as they are written */
    struct ch_sv again[3]; /* other strings that have to be the same */
    struct ch_sv figures;  /* an object of numbers */
    const struct ch_template_unread *unread;
};
void ch_template_learn(struct ch_template *t, const struct ch_template_event *e);

/* An event like the one learnt; false: read it in full. */
bool ch_template_match(struct ch_template *t, struct ch_sv data, struct ch_buf *scratch,
                       struct ch_template_match *out);

#endif
