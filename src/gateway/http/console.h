/* console.h -- GET /: the web console. */
#ifndef CH_GATEWAY_CONSOLE_H
#define CH_GATEWAY_CONSOLE_H
#include "gateway/request/http_route.h"

ch_http_route_fn ch_console;
ch_http_route_fn ch_console_file; /* GET /console/NAME: its scripts and its style */

#endif
