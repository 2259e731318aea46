/* discord_rest.h -- the REST API of Discord: rate limits, codes. */
#ifndef CH_CHANNEL_DISCORD_REST_H
#define CH_CHANNEL_DISCORD_REST_H
#include "channel/discord/discord.h"

struct ch_discord_answer {
    const struct ch_json *json; /* NULL: none */
    int status;                 /* 0: no response */
    enum chela_receipt what;
    const char *why; /* if not SENT; borrowed */
    int64_t wait_ms;
};
typedef void ch_discord_fn(const struct ch_discord_answer *a, void *user);
/* path: below the API's URL. The body is copied; type NULL: JSON. fn may be NULL. once: as in
 * struct chela_channel_request. */
struct ch_discord_call {
    const char *method, *path, *type;
    struct ch_sv body;
    bool once;
    bool brief; /* not sent if the call would have to wait; without fn */
};
void ch_discord_call(struct ch_discord *d, const struct ch_discord_call *c, ch_discord_fn *fn,
                     void *user);
void ch_discord_calls_release(struct ch_discord *d);

#endif
