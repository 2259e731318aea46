/* webhooks.h -- POST /hooks/{name}: signed events from other programs. */
#ifndef CH_GATEWAY_WEBHOOKS_H
#define CH_GATEWAY_WEBHOOKS_H
#include "gateway/request/request.h"

#define CH_WEBHOOK_EVENT "hook/"   /* prefix of the ids of events */
#define CH_WEBHOOK_SESSION "hook:" /* prefix of the keys of sessions that no option names */

struct ch_webhooks;

/* Copies the configured hooks. CHELA_ECONFIG: a secret is too short, or there is no store. */
int ch_webhooks_new(chela_gateway *gw, const struct chela_gateway_opts *o,
                    struct ch_webhooks **out, struct chela_error *err);
void ch_webhooks_free(struct ch_webhooks *h);
ch_http_route_fn ch_webhooks_receive;
/* Is this a session for the events of a hook? */
bool ch_webhooks_own_session(const chela_gateway *gw, const char *session);

#endif
