/* console.h -- GET /: the web console. */
#ifndef CH_GATEWAY_CONSOLE_H
#define CH_GATEWAY_CONSOLE_H
#include "gateway/request/http_route.h"

ch_http_route_fn ch_console;

#endif
