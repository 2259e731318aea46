/* prompt.h -- a prompt as a file: text with holes.
 *
 *     You route requests. Tools: {tools}
 *     Answer with JSON: {{"tool": "..."}}
 *
 * {name} is a hole, {{ and }} are braces, any other brace is a mistake that is
 * told with its place when the file is read. There is no logic, no nesting and
 * no way to reach a file. Values are put in once and never looked at again, so
 * a value that looks like a hole stays what it is. */
#ifndef CH_PROMPT_PROMPT_H
#define CH_PROMPT_PROMPT_H
#include "base/arena.h"
#include "base/buf.h"
#include "chela/error.h"
#include "json/json.h"

struct ch_prompt_piece {
    struct ch_sv text; /* a literal, or the name of a hole */
    bool hole;
};

struct ch_prompt { /* all of it in the arena it was read into */
    const char *name, *version;
    const char *fingerprint; /* "router@1.1#0a1b2c3d4e5f": name, version, text */
    struct ch_prompt_piece *pieces;
    size_t n;
};

/* CHELA_EPARSE: a brace out of place; err reads "router@1.1:LINE:COLUMN: why". */
int ch_prompt_read(struct ch_arena *a, const char *name, const char *version, struct ch_sv text,
                     struct ch_prompt *out, struct chela_error *err);

bool ch_prompt_has(const struct ch_prompt *t, struct ch_sv hole);

struct ch_prompt_value {
    const char *name;
    struct ch_sv text;          /* used if json is NULL */
    const struct ch_json *json; /* written as JSON, two spaces a level */
    /* Written by somebody whose word is no instruction: put between two lines
     * that it cannot have foreseen. */
    bool untrusted;
};

/* CHELA_EINVAL, err naming them: holes without a value, or values without a
 * hole (a misspelt name, or a hole that was dropped). out is then untouched. */
int ch_prompt_render(const struct ch_prompt *t, const struct ch_prompt_value *values,
                       size_t n, struct ch_buf *out, struct chela_error *err);

/* One value as a hole would get it. */
void ch_prompt_add_value(struct ch_buf *out, const struct ch_prompt_value *v);

#endif
