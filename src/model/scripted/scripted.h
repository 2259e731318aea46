/* scripted.h -- an offline model driven by a rule file.
 *
 * It is a transport: it is handed the request that would have gone over the
 * network, reads the conversation out of it, picks the first rule that fits
 * and answers in the wire format of the `anthropic` codec, in pieces. So a
 * scripted model exercises the same codec and event path as any other. It can
 * also fail as a service does: an error status, a cut stream, a stall.
 * The rule language is described in docs/scripted.md. */
#ifndef CH_MODEL_SCRIPTED_H
#define CH_MODEL_SCRIPTED_H
#include "io/loop.h"
#include "net/transport.h"

struct ch_scripted;

/* name: "demo" is embedded; anything else is the path of a YAML rule file,
 * which is read here and now. How often a rule was used is counted per
 * ch_scripted. On failure err reads "FILE:LINE:COLUMN: KEY: why" where it is
 * the file that is wrong (CHELA_ECONFIG, or CHELA_EPARSE for bad YAML). */
int ch_scripted_new(struct ch_loop *loop, const char *name, struct ch_scripted **out,
                    struct chela_error *err);
/* Calls in flight are cancelled; NULL is a no-op. */
void ch_scripted_close(struct ch_scripted *s);
struct ch_transport *ch_scripted_transport(struct ch_scripted *s);

#endif
