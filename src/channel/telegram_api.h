/* telegram_api.h -- calls of the Bot API. */
#ifndef CH_CHANNEL_TELEGRAM_API_H
#define CH_CHANNEL_TELEGRAM_API_H
#include "channel/telegram.h"

/* body: JSON. fn, which may be NULL, is called once, later. */
void ch_telegram_call(struct ch_telegram *t, const char *method, const struct ch_buf *body,
                      ch_web_fn *fn, void *user);

/* The same for what we ask for; it may take wait_ms. */
void ch_telegram_poll(struct ch_telegram *t, const char *method, const struct ch_buf *body,
                      int64_t wait_ms, ch_web_fn *fn, void *user);

void ch_telegram_send(struct ch_telegram *t, const char *method, struct ch_form *form,
                      ch_web_fn *fn, void *user); /* the form's body is taken */

void ch_telegram_download(struct ch_telegram *t, const char *path, ch_web_fn *fn, void *user);

bool ch_telegram_ok(const struct ch_web_answer *a);

/* Why not; in the arena. */
const char *ch_telegram_why(const struct ch_web_answer *a, struct ch_arena *arena);

int64_t ch_telegram_wait(const struct ch_web_answer *a); /* ms that it asked for; 0 */

/* An id is a number; as text, in the arena. NULL: there is none. */
const char *ch_telegram_id(const struct ch_json *v, const char *key, struct ch_arena *a);

#endif
