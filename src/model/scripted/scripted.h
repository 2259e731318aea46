/* scripted.h -- an offline model driven by a rule file.
 *
 * The scripted model is a transport: it receives the HTTP request, extracts the
 * conversation, selects the first matching rule and answers in pieces in the wire format of
 * the `anthropic` codec. So it uses the same codec and event path as any other model. It
 * can also simulate failures of a service: an error status, a truncated stream, a stall.
 * docs/scripted.md describes the rule language. */
#ifndef CH_MODEL_SCRIPTED_H
#define CH_MODEL_SCRIPTED_H
#include "io/loop.h"
#include "net/transport.h"

struct ch_scripted;

/* name: "demo" is embedded; anything else is the path of a YAML rule file, which is read at
 * once. Uses of rules are counted per ch_scripted. If the file is invalid, err is
 * "FILE:LINE:COLUMN: KEY: why" (CHELA_ECONFIG, or CHELA_EPARSE for bad YAML). */
int ch_scripted_new(struct ch_loop *loop, const char *name, struct ch_scripted **out,
                    struct chela_error *err);
/* Calls in flight are cancelled; NULL is a no-op. */
void ch_scripted_close(struct ch_scripted *s);
struct ch_transport *ch_scripted_transport(struct ch_scripted *s);

#endif
