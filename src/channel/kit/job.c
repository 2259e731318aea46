/* job.c -- see job.h. */
#include "channel/kit/job.h"

void ch_kit_job_begin(struct ch_list *jobs, struct ch_kit_job *job,
                      void (*free)(struct ch_kit_job *job)) {
    job->free = free;
    ch_list_add(jobs, &job->link);
}

void ch_kit_job_end(struct ch_kit_job *job) {
    ch_list_del(&job->link);
    job->free(job);
}

void ch_kit_jobs_release(struct ch_list *jobs) {
    for (struct ch_kit_job *j; (j = CH_LIST_FIRST(jobs, struct ch_kit_job, link));)
        ch_kit_job_end(j);
}
