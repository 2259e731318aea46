/* eval_print.c -- see eval_print.h. */
#include "eval/eval_print.h"

#include "base/redact.h"
#include "json/writer.h"

#define SHORT 72 /* bytes of a container that stays on one line */

static void new_line(struct ch_buf *out, unsigned level) {
    ch_buf_addc(out, '\n');
    for (unsigned i = 0; i < level; i++)
        ch_buf_add_str(out, "  ");
}

static void print_level(const struct ch_json *v, struct ch_buf *out, unsigned level) {
    CH_BUF_AUTO flat = {0};
    struct ch_jw w = ch_jw(&flat);
    bool first = true;
    ch_jw_value(&w, v);
    if (v->type < CH_JSON_ARRAY || (flat.n <= SHORT && level > 0)) {
        ch_buf_add_sv(out, ch_buf_sv(&flat));
        return;
    }
    ch_buf_addc(out, v->type == CH_JSON_ARRAY ? '[' : '{');
    for (CH_JSON_EACH(e, v)) {
        ch_buf_add_str(out, first ? "" : ",");
        first = false;
        new_line(out, level + 1);
        print_level(e, out, level + 1);
    }
    for (CH_JSON_MEMBERS(k, m, v)) {
        ch_buf_add_str(out, first ? "" : ",");
        first = false;
        new_line(out, level + 1);
        ch_json_quote(out, ch_json_str(k));
        ch_buf_add_str(out, ": ");
        print_level(m, out, level + 1);
    }
    new_line(out, level);
    ch_buf_addc(out, v->type == CH_JSON_ARRAY ? ']' : '}');
}

void ch_eval_print(const struct ch_json *v, struct ch_buf *out) {
    print_level(v, out, 0);
    ch_buf_addc(out, '\n');
}

char *ch_eval_print_safe(struct ch_sv json, struct chela_error *err) {
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO safe = {0};
    struct ch_buf out = {0};
    const struct ch_json *v;
    ch_redact_copy(&safe, json);
    if (ch_json_parse(&arena, ch_buf_sv(&safe), CH_JSON_REPLACE, &v, NULL, err) < 0)
        return NULL;
    ch_eval_print(v, &out);
    return ch_buf_take(&out);
}
