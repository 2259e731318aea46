/* delta_fast_path.h -- fast decoding of repetitive stream events.
 *
 * Most events of a stream differ only in one string and in ignored members such as padding,
 * a sequence number or an event id. A template stores the bytes of a fully parsed event
 * around these parts. An event with the same bytes around a valid string needs no parsing:
 * only the string is new. An event that differs in any other byte does not match and is
 * parsed in full; the next template then also ignores all members that the parser skipped. */
#ifndef CH_MODEL_DELTA_FAST_PATH_H
#define CH_MODEL_DELTA_FAST_PATH_H
#include "base/buf.h"
#include "base/sv.h"

/* Decode the JSON string whose contents begin at `at`: the contents are a slice of the text
 * or in scratch. Returns the position after the closing quote, or NULL if the string is
 * unterminated or malformed. */
const char *ch_quick_string(const char *at, const char *end, struct ch_buf *scratch,
                            struct ch_sv *out);

#define CH_TEMPLATE_HOLES 24

/* The values that the parser of an event skipped. */
struct ch_template_unread {
    struct ch_sv list[8];
    size_t n; /* values beyond the capacity are not recorded */
};
struct ch_pull;
/* Skip the next value and record it. */
void ch_template_skip(struct ch_template_unread *u, struct ch_pull *p);

/* A zeroed struct matches nothing. */
struct ch_template {
    struct ch_buf bytes; /* the event without the contents of the holes */
    struct ch_template_hole {
        size_t at; /* offset in bytes */
        enum ch_template_kind {
            CH_HOLE_PIECE,
            CH_HOLE_AGAIN, /* the same string again, byte for byte */
            CH_HOLE_PADDING,
            CH_HOLE_NUMBER,
            CH_HOLE_VALUE,
        } kind;
    } holes[CH_TEMPLATE_HOLES];
    size_t nholes;
    /* The object of numbers: its variable parts, and the number of its bytes before the
     * first and after the last of them. */
    size_t first_figure, nfigures, lead, trail;
    unsigned missed; /* templates learnt without a match since the last match */
};

/* The contents of a matched event: slices of the event, or piece in scratch. */
struct ch_template_match {
    struct ch_sv piece;
    struct ch_sv figures;
};

void ch_template_release(struct ch_template *t);
/* Forget the template, because an event must be parsed in full. */
void ch_template_clear(struct ch_template *t);

/* A fully parsed event and its variable parts, as slices of data; {NULL,0} and NULL for
 * absent parts. */
struct ch_template_event {
    struct ch_sv data;
    struct ch_sv piece;    /* the contents of a string, not decoded */
    struct ch_sv again[3]; /* other strings that must equal the piece */
    struct ch_sv figures;  /* an object of numbers */
    const struct ch_template_unread *unread;
};
void ch_template_learn(struct ch_template *t, const struct ch_template_event *e);

/* Make *piece, a string that was decoded, a slice of data, where it follows `name`. False: it has
 * escapes. */
bool ch_template_find(struct ch_sv data, struct ch_sv name, struct ch_sv *piece);

/* Match an event against the template; false: parse it in full. */
bool ch_template_match(struct ch_template *t, struct ch_sv data, struct ch_buf *scratch,
                       struct ch_template_match *out);

#endif
