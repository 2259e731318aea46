/* glob.h -- shell patterns over names and paths.
 *
 * "*" and "?" stay within one name, "[a-z]" and "[!a-z]" stand for one
 * character, "\" makes the next one ordinary. A name that is "**" alone stands
 * for any number of directories, none included; at the end of a pattern for
 * everything below. A pattern that cannot be read ("[" without "]", "\" at the
 * end) matches nothing. Time is bounded by the product of the two lengths: no
 * pattern is worse. */
#ifndef CH_TOOL_GLOB_H
#define CH_TOOL_GLOB_H
#include "base/arena.h"
#include "base/sv.h"

/* One component: name has no slash. */
bool ch_glob_name(struct ch_sv pattern, struct ch_sv name);

/* A whole path, without a slash at either end. */
bool ch_glob_path(struct ch_sv pattern, struct ch_sv path);

/* What a person means by a pattern: with braces ("{c,h}", nested too), and
 * matched against the name alone when it has no slash. */
struct ch_globs {
    struct ch_sv *list; /* in the arena */
    size_t n;
};

/* 0, or CHELA_ELIMIT: more than CH_LIMIT_GLOBS patterns. Braces that are not
 * closed or hold no comma are ordinary characters. */
int ch_globs_read(struct ch_globs *g, struct ch_arena *arena, struct ch_sv pattern);
bool ch_globs_match(const struct ch_globs *g, struct ch_sv path);

#endif
