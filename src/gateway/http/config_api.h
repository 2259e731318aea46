/* config_api.h -- the configuration file: shown with origins, checked, changed by an owner. */
#ifndef CH_GATEWAY_CONFIG_API_H
#define CH_GATEWAY_CONFIG_API_H
#include "gateway/request/http_route.h"

ch_http_route_fn ch_config_api_get;    /* GET /api/config */
/* POST /api/config {"key","value"} or {"restore":true}, with "check" and "of". An option that
 * decides about rights is not changed (config/patch.h). */
ch_http_route_fn ch_config_api_change;

#endif
