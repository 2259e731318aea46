/* principal.h -- on whose behalf a run works: who wrote its input, and the bounds
 * that the host put on it.
 *
 * It goes where the input goes: with a message that waits, into the journal and
 * out of it, so that nothing is ever done for somebody with the rights of
 * somebody else. */
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
};

struct ch_principal ch_principal_of(const struct chela_run_opts *o); /* copies; yours to release */
void ch_principal_release(struct ch_principal *b);

/* Put it into the options of a run; borrowed. */
void ch_principal_apply(const struct ch_principal *b, struct chela_run_opts *o);

/* Have both the same bounds, by these policies? */
bool ch_principal_same(const struct ch_principal *a, const struct ch_principal *b,
                       const struct ch_policies *ps);

/* As the member "for" of a record; nothing if there is nothing to say. */
void ch_principal_write(const struct ch_principal *b, struct ch_jw *w);
struct ch_principal ch_principal_read(const struct ch_json *record); /* yours to release */

#endif
