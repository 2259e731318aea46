/* members.h -- the members of an object into the fields of a struct, by a table.
 *
 *   struct event { struct ch_sv type; int64_t index; };
 *   static const struct ch_member members[] = {
 *       CH_MEMBER(struct event, type, "type", CH_MEMBER_STR),
 *       CH_MEMBER(struct event, index, "index", CH_MEMBER_INT),
 *   };
 *   struct event e = {0};
 *   if (!ch_members_read(json, &scratch, members, CH_LEN(members), &e)) ...
 *
 * Members may come in any order. One that is missing, or of another type than
 * its row says, leaves its field as it was; of one that comes twice the last
 * counts. What no row names is checked and passed over. */
#ifndef CH_JSON_MEMBERS_H
#define CH_JSON_MEMBERS_H
#include <stddef.h>

#include "json/pull.h"

enum ch_member_kind {
    CH_MEMBER_STR,    /* struct ch_sv: the text of a string */
    CH_MEMBER_INT,    /* int64_t */
    CH_MEMBER_BOOL,   /* bool */
    CH_MEMBER_RAW,    /* struct ch_sv: any value, as it is written */
    CH_MEMBER_OBJECT, /* the same, of an object alone */
    CH_MEMBER_ARRAY,  /* the same, of an array alone */
    CH_MEMBER_TEXT,   /* of a string its text, of an object as it is written */
    CH_MEMBER_SOME,   /* bool: there is a value, and it is not null */
    CH_MEMBER_IN,     /* an object whose members are fields of the same struct */
};

struct ch_member {
    struct ch_sv name;
    enum ch_member_kind kind;
    size_t at;                  /* offset of the field */
    const struct ch_member *in; /* of CH_MEMBER_IN */
    size_t n;
};

#define CH_MEMBER(type, field, name, kind) \
    { CH_SV(name), kind, offsetof(type, field), NULL, 0 }
#define CH_MEMBERS_IN(name, rows) \
    { CH_SV(name), CH_MEMBER_IN, 0, rows, CH_LEN(rows) }

/* A whole text. Strings are slices of it or of scratch (pull.h). False: it is
 * not JSON; some fields may be set. A text of another type sets none. */
bool ch_members_read(struct ch_sv json, struct ch_buf *scratch, const struct ch_member *rows,
                     size_t n, void *out);
/* The next value of a walk. */
void ch_members_pull(struct ch_pull *p, const struct ch_member *rows, size_t n, void *out);

#endif
