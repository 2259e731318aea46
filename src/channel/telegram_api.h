/* telegram_api.h -- calls of the Bot API. */
#ifndef CH_CHANNEL_TELEGRAM_API_H
#define CH_CHANNEL_TELEGRAM_API_H
#include "channel/telegram.h"

/* body: JSON. fn, which may be NULL, is called once, later. */
void ch_telegram_call(struct ch_telegram *t, const char *method, const struct ch_buf *body,
                      ch_web_fn *fn, void *user);

/* The same for polling; may take wait_ms. */
void ch_telegram_poll(struct ch_telegram *t, const char *method, const struct ch_buf *body,
                      int64_t wait_ms, ch_web_fn *fn, void *user);

void ch_telegram_send(struct ch_telegram *t, const char *method, struct ch_form *form,
                      ch_web_fn *fn, void *user); /* moves the form's body */

void ch_telegram_download(struct ch_telegram *t, const char *path, ch_web_fn *fn, void *user);

bool ch_telegram_ok(const struct ch_web_answer *a);

/* The error text of a response; in the arena. */
const char *ch_telegram_why(const struct ch_web_answer *a, struct ch_arena *arena);

int64_t ch_telegram_wait(const struct ch_web_answer *a); /* requested delay in ms; 0: none */

/* An id, which is a number, as text in the arena. NULL: none. */
const char *ch_telegram_id(const struct ch_json *v, const char *key, struct ch_arena *a);

#endif
