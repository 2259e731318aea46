/* runs_api.h -- GET /api/runs: the runs that have certain properties, in pages. */
#ifndef CH_GATEWAY_RUNS_API_H
#define CH_GATEWAY_RUNS_API_H
#include "gateway/http/activity_api.h"
#include "json/writer.h"
#include "trace/activity.h"

ch_http_route_fn ch_runs_get;

/* The members of a run, in an object that is open. */
void ch_runs_write(struct ch_jw *w, const struct ch_activity_run *r);

#endif
