/* timer.c -- see timer.h. */
#include "agent/journal/timer.h"

#include "agent/handle/agent.h"
#include "agent/handle/runtime.h"
#include "agent/journal/journal.h"
#include "agent/journal/run_journal.h"
#include "base/sha256.h"
#include "json/json.h"
#include "json/writer.h"

#define DIGITS 32 /* digits of the session's digest that are used: an id has a limit, and a key
                   * can be as long */

bool ch_timer_is_kept(const chela_session *s) {
    return s->agent->rt->timers.set && ch_run_journal_of_session((chela_session *)s);
}

static void timer_write_id(const char *key, int64_t now, struct ch_buf *out) {
    unsigned char digest[CH_SHA256_SIZE];
    char hex[2 * CH_SHA256_SIZE + 1];

    ch_sha256_of(ch_sv_str(key), digest);
    ch_sha256_hex(digest, hex);
    ch_buf_addf(out, CH_TIMER_NOTE "%.*s/%lld", DIGITS, hex, (long long)now);
}

void ch_timer_set(chela_session *s, int64_t due) {
    chela_runtime *rt = s->agent->rt;
    CH_BUF_AUTO id = {0}, data = {0};
    struct ch_jw w = ch_jw(&data);

    if (!ch_timer_is_kept(s))
        return;
    timer_write_id(s->key, ch_now_ms(ch_loop_clock(rt->loop)), &id);
    ch_jw_begin(&w, '{');
    ch_jw_kint(&w, "due", due);
    ch_jw_kcstr(&w, "agent", s->agent->id ? s->agent->id : "");
    ch_jw_end(&w, '}');
    struct chela_store_change c = {.kind = CHELA_STORE_NOTE,
                                   .id = ch_buf_str(&id),
                                   .key = s->key,
                                   .data = data.p,
                                   .n = data.n,
                                   .now = ch_now_ms(ch_loop_clock(rt->loop))};
    rt->journal->ops->change(rt->journal, &c, rt->journal->gate, NULL, NULL);
    rt->timers.set(due, rt->timers.user);
}

int64_t ch_timer_read(struct ch_sv note, struct ch_arena *arena, const char **agent) {
    const struct ch_json *v;

    *agent = "";
    if (ch_json_parse(arena, note, CH_JSON_STRICT, &v, NULL, NULL) < 0)
        return INT64_MAX;
    struct ch_sv id = ch_json_get_str(v, "agent");
    if (id.n)
        *agent = ch_arena_str(arena, id);
    return ch_json_int(ch_json_get(v, "due"), INT64_MAX);
}
