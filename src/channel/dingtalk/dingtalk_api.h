/* dingtalk_api.h -- requests, access tokens, error codes. */
#ifndef CH_CHANNEL_DINGTALK_API_H
#define CH_CHANNEL_DINGTALK_API_H
#include "channel/dingtalk/dingtalk.h"

/* A response of the service. */
struct ch_dingtalk_answer {
    const struct ch_json *json; /* NULL: none */
    enum chela_receipt what;
    const char *why; /* if not SENT; borrowed */
    int64_t wait_ms;
};
typedef void ch_dingtalk_fn(const struct ch_dingtalk_answer *a, void *user);
/* Call a method of the API with a JSON body, which is copied. fn may be NULL; it is not called
 * after the channel has ended. */
void ch_dingtalk_call(struct ch_dingtalk *d, const char *method, const char *path,
                      struct ch_sv body, ch_dingtalk_fn *fn, void *user);
/* Upload a file: media_id. kind: "image" or "file". */
void ch_dingtalk_upload(struct ch_dingtalk *d, const char *kind, const char *name,
                        struct ch_sv bytes, ch_dingtalk_fn *fn, void *user);
/* POST to a URL, without a token. */
void ch_dingtalk_post_to(struct ch_dingtalk *d, const char *url, struct ch_sv body,
                         ch_dingtalk_fn *fn, void *user);
/* Classify a response, whose JSON is in arena a. */
void ch_dingtalk_judge(const struct chela_channel_response *r, struct ch_arena *a,
                       struct ch_dingtalk_answer *out);

#endif
