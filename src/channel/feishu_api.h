/* feishu_api.h -- calls of the open platform. */
#ifndef CH_CHANNEL_FEISHU_API_H
#define CH_CHANNEL_FEISHU_API_H
#include "channel/feishu.h"

/* base: "https://open.feishu.cn". Texts are copied. */
struct ch_feishu_api *ch_feishu_api_new(chela_runtime *rt, const char *base, const char *app_id,
                                        const char *secret);

bool ch_feishu_api_is_idle(const struct ch_feishu_api *api); /* no call is in progress */

void ch_feishu_api_close(struct ch_feishu_api *api); /* no callback after this */

/* path: "/open-apis/...". body: JSON, copied; NULL: none. fn, which may be NULL,
 * is called once, later. */
void ch_feishu_call(struct ch_feishu_api *api, const char *method, const char *path,
                    const char *body, ch_feishu_fn *fn, void *user);

/* GET a file of at most CH_LIMIT_CHANNEL_FILE bytes. */
void ch_feishu_download(struct ch_feishu_api *api, const char *path, ch_feishu_fn *fn, void *user);

/* POST a form; body is moved, type is borrowed until fn. */
void ch_feishu_send_form(struct ch_feishu_api *api, const char *path, const char *type,
                         struct ch_buf *body, ch_feishu_fn *fn, void *user);

/* POST without a token. */
void ch_feishu_ask(struct ch_feishu_api *api, const char *path, const char *body,
                   ch_feishu_fn *fn, void *user);

#endif
