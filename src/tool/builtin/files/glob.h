/* glob.h -- shell patterns over names and paths.
 *
 * "*" and "?" match within one name, "[a-z]" and "[!a-z]" match one character, "\" quotes
 * the next character. A component that is exactly "**" matches any number of directories,
 * including none; at the end of a pattern it matches everything below. An invalid pattern
 * ("[" without "]", "\" at the end) matches nothing. Worst-case time is the product of the
 * two lengths. */
#ifndef CH_TOOL_GLOB_H
#define CH_TOOL_GLOB_H
#include "base/arena.h"
#include "base/sv.h"

/* Match one path component; name contains no slash. */
bool ch_glob_name(struct ch_sv pattern, struct ch_sv name);

/* Match a whole path without leading or trailing slash. */
bool ch_glob_path(struct ch_sv pattern, struct ch_sv path);

/* A user's pattern: braces ("{c,h}", may nest) are expanded, and a pattern without a slash
 * matches the file name alone. */
struct ch_globs {
    struct ch_sv *list; /* in the arena */
    size_t n;
};

/* Returns 0, or CHELA_ELIMIT for more than CH_LIMIT_GLOBS patterns or opening braces.
 * Braces that are unclosed or contain no comma are literal. */
int ch_globs_read(struct ch_globs *g, struct ch_arena *arena, struct ch_sv pattern);
bool ch_globs_match(const struct ch_globs *g, struct ch_sv path);

#endif
