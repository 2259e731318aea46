/* schedules.h -- the schedules of a gateway: looks at the clock, and begins what
 * is due.
 *
 * Each look reads all notes of the store anew, on a worker thread: another
 * program may have added a schedule, or another gateway have been first. What is
 * due is accepted into the inbox together with the note of how far the schedule
 * has come, in one transaction; the same occurrence has the same name for
 * everybody, so one gateway gets it, and delivers it (delivery.h). An occurrence
 * whose predecessor still waits is left out. */
#ifndef CH_GATEWAY_SCHEDULES_H
#define CH_GATEWAY_SCHEDULES_H
#include "gateway/request/gateway.h"

struct ch_schedules;

/* Those of the configuration; the store has others. CHELA_ECONFIG. *out is
 * written on success. Without a store there must be none. */
int ch_schedules_new(chela_gateway *gw, const struct chela_gateway_opts *o,
                     struct ch_schedules **out, struct chela_error *err);
void ch_schedules_free(struct ch_schedules *s);

/* Look now, and then whenever something may be due. */
void ch_schedules_start(struct ch_schedules *s);
/* Look once: fn is told how many occurrences were accepted, once they are on
 * their way. name: this one is due now, whatever it says; NULL: what is due. */
void ch_schedules_once(struct ch_schedules *s, const char *name,
                       void (*fn)(int rc, const struct chela_error *err, size_t n, void *user),
                       void *user);

#endif
