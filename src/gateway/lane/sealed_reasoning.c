/* sealed_reasoning.c -- see sealed_reasoning.h. */
#include "gateway/lane/sealed_reasoning.h"

#include "base/base64.h"
#include "json/json.h"
#include "json/writer.h"

#define PREFIX "chela1."

void ch_reasoning_seal(const struct ch_sealed_reasoning *r, struct ch_buf *out) {
    CH_BUF_AUTO json = {0};
    struct ch_jw w = ch_jw(&json);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "api", r->by.api);
    ch_jw_kstr(&w, "model", r->by.model);
    ch_jw_kstr(&w, "asked", r->by.asked);
    ch_jw_kint(&w, "turn", r->turn);
    ch_jw_kstr(&w, "text", r->block.text);
    ch_jw_kstr(&w, "id", r->block.id);
    ch_jw_kstr(&w, "field", r->block.name);
    ch_jw_kstr(&w, "extra", r->block.extra);
    ch_jw_kbool(&w, "redacted", r->block.flags & CH_F_REDACTED);
    ch_jw_end(&w, '}');
    ch_buf_add_str(out, PREFIX);
    ch_base64_add(out, ch_buf_sv(&json));
}

bool ch_reasoning_unseal(struct ch_arena *a, struct ch_sv text, struct ch_sealed_reasoning *out) {
    CH_BUF_AUTO json = {0};
    const struct ch_json *v = NULL;
    size_t n = sizeof(PREFIX) - 1;
    if (!ch_sv_starts(text, PREFIX) || !ch_base64_read(ch_sv(text.p + n, text.n - n), &json))
        return false;
    struct ch_sv copy = ch_arena_sv(a, ch_buf_sv(&json));
    if (ch_json_parse(a, copy, CH_JSON_STRICT, &v, NULL, NULL) < 0 ||
        !ch_json_get_str(v, "api").n)
        return false;
    bool redacted = ch_json_bool(ch_json_get(v, "redacted"), false);
    *out = (struct ch_sealed_reasoning){
        .block = {.type = CH_BLOCK_REASONING,
                  .flags = redacted ? CH_F_REDACTED : 0,
                  .text = ch_json_get_str(v, "text"),
                  .id = ch_json_get_str(v, "id"),
                  .name = ch_json_get_str(v, "field"),
                  .extra = ch_json_get_str(v, "extra")},
        .by = {ch_arena_str(a, ch_json_get_str(v, "api")), ch_json_get_str(v, "model"),
               ch_json_get_str(v, "asked")},
        .turn = ch_json_int(ch_json_get(v, "turn"), 1)};
    return true;
}
