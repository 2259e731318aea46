/* members.h -- read the members of an object into the fields of a struct, by a
 * table.
 *
 *   struct event { struct ch_sv type; int64_t index; };
 *   static const struct ch_member members[] = {
 *       CH_MEMBER(struct event, type, "type", CH_MEMBER_STR),
 *       CH_MEMBER(struct event, index, "index", CH_MEMBER_INT),
 *   };
 *   struct event e = {0};
 *   if (!ch_members_read(json, &scratch, members, CH_LEN(members), &e)) ...
 *
 * Members may come in any order. A member that is missing or has another type
 * than its row leaves the field unchanged. Of a repeated member the last one
 * is used. Members without a row are checked for syntax and skipped. */
#ifndef CH_JSON_MEMBERS_H
#define CH_JSON_MEMBERS_H
#include <stddef.h>

#include "json/pull.h"

enum ch_member_kind {
    CH_MEMBER_STR,    /* struct ch_sv: the text of a string */
    CH_MEMBER_INT,    /* int64_t */
    CH_MEMBER_BOOL,   /* bool */
    CH_MEMBER_RAW,    /* struct ch_sv: the source text of any value */
    CH_MEMBER_OBJECT, /* as CH_MEMBER_RAW, but only an object */
    CH_MEMBER_ARRAY,  /* as CH_MEMBER_RAW, but only an array */
    CH_MEMBER_TEXT,   /* contents of a string, or source text of an object */
    CH_MEMBER_SOME,   /* bool: a value is present and not null */
    CH_MEMBER_IN,     /* an object whose members are fields of the same struct */
    CH_MEMBER_RAW_IN, /* as CH_MEMBER_RAW, and an object as CH_MEMBER_IN */
};

struct ch_member {
    struct ch_sv name;
    enum ch_member_kind kind;
    size_t at;                  /* offset of the field */
    const struct ch_member *in; /* rows of an object inside */
    size_t n;
};

#define CH_MEMBER(type, field, name, kind) \
    { CH_SV(name), kind, offsetof(type, field), NULL, 0 }
#define CH_MEMBERS_IN(name, rows) \
    { CH_SV(name), CH_MEMBER_IN, 0, rows, CH_LEN(rows) }
#define CH_MEMBERS_RAW_IN(type, field, name, rows) \
    { CH_SV(name), CH_MEMBER_RAW_IN, offsetof(type, field), rows, CH_LEN(rows) }

/* Read a whole text. Strings are slices of the text or of scratch (pull.h).
 * False if the text is not valid JSON; some fields may be set then. A text that
 * is not an object sets no field. */
bool ch_members_read(struct ch_sv json, struct ch_buf *scratch, const struct ch_member *rows,
                     size_t n, void *out);
/* Read the next value of a pull reader. */
void ch_members_pull(struct ch_pull *p, const struct ch_member *rows, size_t n, void *out);

#endif
