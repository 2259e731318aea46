/* shell_words.h -- splits a single plain shell command into words.
 *
 * A rule about commands is only as reliable as the parser. This parser accepts only syntax
 * that every shell reads the same way: words of ordinary characters, backslashes, and both
 * kinds of quotes without expansions. Operators, redirections, expansions, globs, braces,
 * comments, assignments, several lines and reserved words are rejected: a text that is not
 * provably a plain command has no words. */
#ifndef CH_TOOL_SHELL_WORDS_H
#define CH_TOOL_SHELL_WORDS_H
#include "base/arena.h"

enum ch_words_mode {
    CH_WORDS_COMMAND, /* the first word is checked as a program name */
    /* A pattern for commands: unquoted * and ? are kept; quoted ones and backslashes get a
     * backslash, so that ch_glob_word can distinguish them. */
    CH_WORDS_PATTERN
};

struct ch_words {
    const char **v; /* in the arena, NULL-terminated; NULL: not a provably plain command */
    size_t n;
    const char *why; /* static: the obstacle, as in "it uses ..." */
};

struct ch_words ch_shell_words(struct ch_arena *arena, struct ch_sv text, enum ch_words_mode mode);

/* Match one word. * never matches a word that begins with "-", unless the pattern begins
 * with "-": a wildcard for an argument must not match an option. */
bool ch_glob_word(const char *pattern, const char *word);

#endif
