/* job.h -- work of a channel that is in progress, and ends with the channel at the latest. */
#ifndef CH_CHANNEL_KIT_JOB_H
#define CH_CHANNEL_KIT_JOB_H
#include "base/list.h"

struct ch_kit_job {
    struct ch_link link;
    void (*free)(struct ch_kit_job *job);
};
void ch_kit_job_begin(struct ch_list *jobs, struct ch_kit_job *job,
                      void (*free)(struct ch_kit_job *job));
void ch_kit_job_end(struct ch_kit_job *job); /* frees it */
void ch_kit_jobs_release(struct ch_list *jobs);

#endif
