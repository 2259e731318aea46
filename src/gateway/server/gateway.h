/* gateway.h -- a gateway that accepts no requests; chela/gateway.h has the other one. */
#ifndef CH_GATEWAY_SERVER_GATEWAY_H
#define CH_GATEWAY_SERVER_GATEWAY_H
#include "gateway/request/gateway_state.h"

/* Opens a gateway without a server, for schedules. chela_gateway_close closes it. */
int ch_gateway_open_headless(chela_runtime *rt, const struct chela_gateway_opts *opts,
                             chela_gateway **out, struct chela_error *err);

#endif
