/* attempts.h -- counts the wrong tokens that each network sent recently.
 *
 * Every network has an account of attempts that refills with time. Only wrong tokens cost
 * one: a right token is never refused, so that nobody can lock out others who share an
 * address or a proxy. The table is bounded; the network with the fullest account makes room
 * for a new one. For the loop thread. */
#ifndef CH_GATEWAY_ATTEMPTS_H
#define CH_GATEWAY_ATTEMPTS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ch_attempts {
    struct ch_attempt *list; /* owned */
    size_t n;
    size_t share; /* processes that count apart and together allow the limit; 0: one */
};

void ch_attempts_release(struct ch_attempts *a);
/* Counts a wrong token from a network (ch_exchange_network). True: the limit is exceeded. */
bool ch_attempts_fail(struct ch_attempts *a, const unsigned char network[16], int64_t now_ms);

#endif
