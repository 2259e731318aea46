/* schedules.h -- the schedules of a gateway: begins the runs that are due.
 *
 * A scan reads the schedules and their states from the store, on a worker thread, because
 * another program may have added a schedule and another gateway may have begun an
 * occurrence. A due occurrence enters the inbox in one transaction with the new state of its
 * schedule. Its id is the same for all gateways, so only one of them can accept it; that
 * gateway delivers it (lane/delivery.h). An occurrence is skipped while an earlier one of
 * its schedule is still in the inbox. Loop thread only. */
#ifndef CH_GATEWAY_SCHEDULES_H
#define CH_GATEWAY_SCHEDULES_H
#include "gateway/request/gateway_state.h"

struct ch_schedules;

/* Takes the schedules of the configuration; those of the store are read by each scan.
 * CHELA_ECONFIG: a schedule is invalid, or there is no store. */
int ch_schedules_new(chela_gateway *gw, const struct chela_gateway_opts *o,
                     struct ch_schedules **out, struct chela_error *err);
void ch_schedules_free(struct ch_schedules *s);

/* Scans now, and then whenever a schedule may be due. */
void ch_schedules_start(struct ch_schedules *s);
/* Scans once. fn receives the number of accepted occurrences when their deliveries have
 * begun. name: begins this schedule now, due or not; NULL: those that are due. */
void ch_schedules_once(struct ch_schedules *s, const char *name,
                       void (*fn)(int rc, const struct chela_error *err, size_t n, void *user),
                       void *user);
/* Begins a schedule of a serving gateway, due or not. fn as above; it is called once, also
 * if the schedules are freed. False: another request is in progress. */
bool ch_schedules_run_now(struct ch_schedules *s, const char *name,
                          void (*fn)(int rc, const struct chela_error *err, size_t n, void *user),
                          void *user);
/* fn of this user is not called any more. */
void ch_schedules_forget(struct ch_schedules *s, const void *user);
/* Appends the schedules of the configuration, one in a line, for ch_schedule_read. */
void ch_schedules_write(const struct ch_schedules *s, struct ch_buf *out);

#endif
