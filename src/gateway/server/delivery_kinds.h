/* delivery_kinds.h -- the kinds of events that sessions take up. */
#ifndef CH_GATEWAY_DELIVERY_KINDS_H
#define CH_GATEWAY_DELIVERY_KINDS_H
#include "gateway/lane/delivery.h"

extern const struct ch_delivery_kind *const ch_delivery_kinds[];

#endif
