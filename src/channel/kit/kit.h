/* kit.h -- what the channels that are modules share.
 *
 * A module has its own copy of these functions, which use base/ and json/ alone. */
#ifndef CH_CHANNEL_KIT_KIT_H
#define CH_CHANNEL_KIT_KIT_H
#include "base/arena.h"
#include "base/buf.h"
#include "base/list.h"
#include "chela/sys/channel.h"
#include "json/json.h"

static inline struct ch_sv ch_kit_sv(struct chela_text t) {
    return ch_sv(t.p, t.n);
}
static inline struct chela_text ch_kit_text(struct ch_sv s) {
    return (struct chela_text){s.p, s.n};
}

/* --- options */

/* The value of an option without a member; NULL: not set. */
const char *ch_kit_setting(const struct chela_channel_opts *o, const char *name);
/* Fill *err for an option that is missing or wrong; returns its code. */
int ch_kit_refuse(struct chela_error *err, const char *channel, const char *why);
/* Whether a text can be part of a URL: visible ASCII characters, one at least. */
bool ch_kit_is_visible(const char *text);
/* A URL without slashes at its end, owned by the caller; NULL: neither encrypted nor local. */
char *ch_kit_base(const char *url);

/* --- what a service sends */

/* A member that is an id or a name: not empty, at most 4,096 bytes, without NUL; else NULL. */
const char *ch_kit_word(const struct ch_json *v, const char *key, struct ch_arena *a);
/* The header Retry-After in milliseconds; 0: none. */
int64_t ch_kit_retry_after(const struct chela_channel_response *r);
/* Percent-encode all but letters, digits and -_. */
void ch_kit_add_encoded(struct ch_buf *out, struct ch_sv text);

/* --- text */

/* Appends Markdown with tables as blocks of code. `breaks`: a line break that the service would
 * drop gets two spaces before it. */
void ch_kit_format(struct ch_buf *out, struct ch_sv markdown, bool breaks);

/* --- work in progress, which ends with the channel at the latest */

struct ch_kit_job {
    struct ch_link link;
    void (*free)(struct ch_kit_job *job);
};
void ch_kit_job_begin(struct ch_list *jobs, struct ch_kit_job *job,
                      void (*free)(struct ch_kit_job *job));
void ch_kit_job_end(struct ch_kit_job *job); /* frees it */
void ch_kit_jobs_release(struct ch_list *jobs);

#endif
