/* say.h -- the sentences that chela itself says to people, in their language.
 *
 * One catalogue for all faces: chats, cards, pages, the terminal. A sentence has a key (say_keys.h)
 * and, in each language, a text (say_en.c, say_zh.c). {1} to {4} in a text stand for values: names
 * of tools, commands and files, which are the same in every language. A further language is one
 * more file like these, a row of the table in say.c and a value of enum chela_language.
 *
 * A sentence that a language lacks is said in English. Any thread. */
#ifndef CH_BASE_SAY_H
#define CH_BASE_SAY_H
#include "base/buf.h"
#include "base/say_keys.h"
#include "base/sv.h"
#include "chela/choice.h"

enum ch_say {
#define CH_SAY_ENUM(key) CH_SAY_##key,
    CH_SAY_KEYS(CH_SAY_ENUM)
#undef CH_SAY_ENUM
    CH_SAYS
};

/* The text of a sentence without values. AUTO: English. */
const char *ch_say(enum ch_say key, enum chela_language language);

/* Appends a sentence with its values, in the order of {1}, {2}...; a value that is not given stays
 * empty. */
void ch_say_add(struct ch_buf *out, enum ch_say key, enum chela_language language,
                const struct ch_sv *values, size_t n);
#define CH_SAY_VALUES(...) \
    (const struct ch_sv[]){__VA_ARGS__}, sizeof((const struct ch_sv[]){__VA_ARGS__}) / \
                                             sizeof(struct ch_sv)

/* The language that a person wrote: ZH if the text has Chinese characters, EN if it has other
 * letters, else AUTO: a number or a sign says nothing, and neither do the words of a command,
 * which begins with a slash. */
enum chela_language ch_say_language(struct ch_sv text);

/* The language of a question about a call: a question in a language other than English begins with
 * CH_SAY_ASKS of that language, so that a card knows how to label its buttons. */
enum chela_language ch_say_language_of_question(const char *question);

/* For tests and tools: the text of one language alone; NULL: it has none. */
const char *ch_say_exactly(enum ch_say key, enum chela_language language);

#endif
