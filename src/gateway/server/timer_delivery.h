/* timer_delivery.h -- the event that resumes a paused run at its time (agent/journal/timer.h). */
#ifndef CH_GATEWAY_TIMER_DELIVERY_H
#define CH_GATEWAY_TIMER_DELIVERY_H
#include "gateway/lane/delivery.h"

extern const struct ch_delivery_kind ch_timer_delivery;

#endif
