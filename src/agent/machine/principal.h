/* principal.h -- the principal of a run: the sender of its input, and the restrictions that
 * the host set for that sender.
 *
 * The principal stays with the input: in the queue, in the journal and after recovery. So
 * no message is processed with the rights of another sender. */
#ifndef CH_AGENT_PRINCIPAL_H
#define CH_AGENT_PRINCIPAL_H
#include "chela/session.h"
#include "json/json.h"
#include "json/writer.h"
#include "tool/registry/policies.h"

struct ch_principal {
    char *channel, *sender, *allow, *deny; /* owned, may be NULL */
    enum chela_approve approve;
    enum chela_permission permission;
    char *labels; /* owned: sources of the input (egress/labels.h); no right depends on them; NULL:
                     the owner's words */
    char *traceparent; /* owned: trace context of the sender; no right depends on it; NULL: none */
};

/* copies the texts; the caller releases it */
struct ch_principal ch_principal_of(const struct chela_run_opts *o);
void ch_principal_release(struct ch_principal *b);

/* Sets the options of a run from the principal; texts are borrowed. */
void ch_principal_apply(const struct ch_principal *b, struct chela_run_opts *o);

/* True: under these policies both principals have the same rights. */
bool ch_principal_same(const struct ch_principal *a, const struct ch_principal *b,
                       const struct ch_policies *ps);

/* Writes the member "for" of a journal record, unless the principal is empty. */
void ch_principal_write(const struct ch_principal *b, struct ch_jw *w);
struct ch_principal ch_principal_read(const struct ch_json *record); /* the caller releases it */

#endif
