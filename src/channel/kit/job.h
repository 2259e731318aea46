/* job.h -- lists of work in progress, which ends with its channel at the latest.
 *
 * A job is embedded in the struct of its owner. ch_kit_job_end and, for all jobs of a list,
 * ch_kit_jobs_release take a job off its list and call `free`, which frees that struct. */
#ifndef CH_CHANNEL_KIT_JOB_H
#define CH_CHANNEL_KIT_JOB_H
#include "base/list.h"

struct ch_kit_job {
    struct ch_link link;
    void (*free)(struct ch_kit_job *job);
};
void ch_kit_job_begin(struct ch_list *jobs, struct ch_kit_job *job,
                      void (*free)(struct ch_kit_job *job));
void ch_kit_job_end(struct ch_kit_job *job);
void ch_kit_jobs_release(struct ch_list *jobs);

#endif
