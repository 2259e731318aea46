/* telegram_api.c -- calls of the Bot API. URLs contain the token, so they are never shown
 * or logged. */
#include "channel/telegram_api.h"

#include "base/limits.h"
#include "channel/attach.h"
#include "channel/telegram.h"

#define CALL_MS 30000
#define FILE_MS (5 * 60 * 1000)

void ch_telegram_poll(struct ch_telegram *t, const char *method, const struct ch_buf *body,
                      int64_t wait_ms, ch_web_fn *fn, void *user) {
    CH_BUF_AUTO url = {0};
    ch_buf_addf(&url, "%s/%s", t->base, method);
    ch_web_post(&t->poll, ch_buf_str(&url), ch_buf_str(body), wait_ms, fn, user);
}

void ch_telegram_call(struct ch_telegram *t, const char *method, const struct ch_buf *body,
                      ch_web_fn *fn, void *user) {
    CH_BUF_AUTO url = {0};
    ch_buf_addf(&url, "%s/%s", t->base, method);
    ch_web_post(&t->web, ch_buf_str(&url), ch_buf_str(body), CALL_MS, fn, user);
}

void ch_telegram_send(struct ch_telegram *t, const char *method, struct ch_form *form,
                      ch_web_fn *fn, void *user) {
    CH_BUF_AUTO url = {0};
    ch_buf_addf(&url, "%s/%s", t->base, method);
    struct ch_web_request r = {.method = "POST", .url = ch_buf_str(&url), .type = form->type,
                               .body = &form->body, .wait_ms = FILE_MS};
    ch_web_start(&t->web, &r, fn, user);
}

void ch_telegram_download(struct ch_telegram *t, const char *path, ch_web_fn *fn, void *user) {
    CH_BUF_AUTO url = {0};
    ch_buf_addf(&url, "%s/%s", t->files, path);
    struct ch_web_request r = {.method = "GET", .url = ch_buf_str(&url),
                               .most = CH_LIMIT_CHANNEL_FILE, .wait_ms = FILE_MS};
    ch_web_start(&t->web, &r, fn, user);
}

bool ch_telegram_ok(const struct ch_web_answer *a) {
    return ch_json_bool(ch_json_get(a->json, "ok"), false);
}

const char *ch_telegram_why(const struct ch_web_answer *a, struct ch_arena *arena) {
    struct ch_sv text = ch_json_get_str(a->json, "description");
    if (a->why)
        return ch_arena_str(arena, ch_sv_str(a->why));
    return ch_arena_printf(arena, "HTTP %d%s%.*s", a->status, text.n ? ": " : "", CH_SV_FMT(text));
}

int64_t ch_telegram_wait(const struct ch_web_answer *a) {
    const struct ch_json *p = ch_json_get(a->json, "parameters");
    return CH_MIN(ch_json_int(ch_json_get(p, "retry_after"), 0), 3600) * 1000;
}

const char *ch_telegram_id(const struct ch_json *v, const char *key, struct ch_arena *a) {
    int64_t n = ch_json_int(ch_json_get(v, key), 0);
    return n ? ch_arena_printf(a, "%lld", (long long)n) : NULL;
}
