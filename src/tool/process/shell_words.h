/* shell_words.h -- is this text one plain command, and which words has it?
 *
 * Rules about commands are only as good as our reading of them. So only what
 * every shell reads in the same way is read at all: words of ordinary
 * characters, backslashes, and the two kinds of quotes with nothing to expand
 * in them. Operators, redirections, expansions, globs, braces, comments,
 * assignments, several lines, words that the shell keeps for itself: whatever
 * is not provably a plain command is refused, not guessed at. */
#ifndef CH_TOOL_SHELL_WORDS_H
#define CH_TOOL_SHELL_WORDS_H
#include "base/arena.h"

enum ch_words_mode {
    CH_WORDS_COMMAND, /* the first word is the program's name, so it is checked */
    /* A pattern for the above: unquoted * and ? are kept, and each of those
     * characters that was quoted gets a backslash (as does a backslash), so
     * that ch_glob_word can tell them apart. */
    CH_WORDS_PATTERN
};

struct ch_words {
    const char **v; /* in the arena, NULL-terminated; NULL: not provable */
    size_t n;
    const char *why; /* static: what is in the way, as in "it uses ..." */
};

struct ch_words ch_shell_words(struct ch_arena *arena, struct ch_sv text, enum ch_words_mode mode);

/* Does a word of a pattern match a word? * never matches a word that begins
 * with "-", unless the pattern itself does: what looks like an argument must
 * not turn out to be an option. */
bool ch_glob_word(const char *pattern, const char *word);

#endif
