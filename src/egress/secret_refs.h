/* secret_refs.h -- secrets that only the gate knows: a name, a value, and the hosts that own it.
 *
 * Models, tools and the configuration use the name. The value is put in when a request goes to a
 * host that owns the secret, over TLS or to an address that the pattern names, and nowhere else. A
 * value is added to the secrets of the process (guard/secrets.h), so it is redacted, and a call
 * whose arguments hold it is refused. A list is immutable once it is filled; any thread. */
#ifndef CH_EGRESS_SECRET_REFS_H
#define CH_EGRESS_SECRET_REFS_H
#include "base/arena.h"
#include "json/json.h"
#include "net/url.h"

struct ch_secret_refs;

/* Adds a secret to *list, which is made if it is NULL. source: {"env"|"file"|"credential": TEXT} or
 * {"command": [TEXT]}, with "hosts": [PATTERN] and perhaps "header": "Name: text {}". env looks up
 * variables. Blocks while a file is read or a command runs. CHELA_EINVAL: a member is wrong;
 * CHELA_ENOENT: there is no value; the error names the secret. */
int ch_secret_refs_add(struct ch_secret_refs **list, struct ch_sv name,
                       const struct ch_json *source,
                       const char *(*env)(const char *name, void *user), void *user,
                       struct chela_error *err);
void ch_secret_refs_free(struct ch_secret_refs *list); /* NULL is a no-op */

/* Headers, "Name: value", of the secrets that own the destination; at most `max`, in the arena.
 * Returns their number. list may be NULL. */
size_t ch_secret_refs_headers(const struct ch_secret_refs *list, const struct ch_url *to,
                              struct ch_arena *arena, const char **out, size_t max);

/* Appends text with the values in place of {{secret:NAME}}. CHELA_ENOENT: there is no such secret;
 * CHELA_EPERM: the destination does not own it. */
int ch_secret_refs_fill(const struct ch_secret_refs *list, const struct ch_url *to,
                        struct ch_sv text, struct ch_buf *out, struct chela_error *err);

#endif
