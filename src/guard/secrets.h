/* secrets.h -- values that must not leave this machine, and the search for them in what leaves.
 *
 * A set holds values by name. The search finds a value as it is, in any case of letters, as
 * hexadecimal digits (also with something between the bytes, as in 73:6b), in base64 (both
 * alphabets, at any position of a longer text), with percent-encoded bytes, as in a form, with
 * white space between its characters, and in one of these ways after another. A value that was
 * encoded in another way, cut to pieces or described is not found: the search is a net, not a wall.
 *
 * A value of fewer than CH_SECRET_LEAST bytes, or one that is a common word, is left out,
 * because ordinary text contains it; a line of the log says so once.
 *
 * The set of the process contains keys, tokens and passwords of the configuration and of the
 * environment. All functions are thread safe, except that a set other than that of the process
 * is used by one thread at a time. */
#ifndef CH_GUARD_SECRETS_H
#define CH_GUARD_SECRETS_H
#include "base/buf.h"

#define CH_SECRET_LEAST 8

struct ch_secrets;

struct ch_secrets *ch_secrets_new(void);
void ch_secrets_free(struct ch_secrets *s); /* NULL is a no-op */
/* Add a value (copied), unless it is known already. Of a value with several lines, each long
 * line is added. Beyond CH_LIMIT_SECRETS values the oldest is dropped. False: the value is too
 * short or a common word. */
bool ch_secrets_put(struct ch_secrets *s, const char *name, struct ch_sv value);
/* The name of a value that text contains, borrowed from the set; NULL: none. The time is
 * proportional to the length of text. */
const char *ch_secrets_find(const struct ch_secrets *s, struct ch_sv text);

/* Append text to out with [secret: NAME] in the place of each value that stands in it as it is, in
 * any case of letters. True: there was one. */
bool ch_secrets_mask(const struct ch_secrets *s, struct ch_sv text, struct ch_buf *out);

/* Add a value, with a name of at most 127 bytes, to the set of the process, and register it for
 * redaction. value NULL or "": nothing happens. The value of an Authorization header is added
 * without its scheme. */
CHELA_PRINTF(2, 3) void ch_secret_add(const char *value, const char *name, ...);
/* Append the name of a value of the process that text contains. False: none. */
bool ch_secret_find(struct ch_sv text, struct ch_buf *name);
/* ch_secrets_mask with the set of the process. */
bool ch_secret_mask(struct ch_sv text, struct ch_buf *out);

/* Does a name such as API_KEY, db-password or Authorization say that its value is secret? */
bool ch_secret_is_named(struct ch_sv name);

#endif
