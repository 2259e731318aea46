/* calculate.c -- the tool `calculate`. */
#include "tool/builtin/data/calculate.h"

#include "tool/builtin/data/expression.h"
#include "json/writer.h"

int ch_calculate_check(chela_call *call, void *user) {
    const char *text;

    (void)user;
    return chela_arg_string(call, "expression", &text);
}

static void calculate_set_details(chela_call *call, struct ch_sv value, bool exact) {
    CH_BUF_AUTO json = {0};
    struct ch_jw w = ch_jw(&json);

    ch_jw_begin(&w, '{');
    ch_jw_kstr(&w, "result", value);
    ch_jw_kbool(&w, "exact", exact);
    ch_jw_end(&w, '}');
    chela_result_details(call, ch_buf_str(&json));
}

int ch_calculate_run(chela_call *call, void *user) {
    struct chela_error err = {0};
    CH_BUF_AUTO value = {0};
    const char *text;
    bool exact;

    (void)user;
    int rc = chela_arg_string(call, "expression", &text);
    if (rc < 0)
        return rc;
    if (ch_expression(ch_sv_str(text), &value, &exact, &err) < 0)
        return chela_result_error(call, "invalid_arguments", "Cannot calculate: %s.", err.message);
    chela_result_printf(call, "%s%s", ch_buf_str(&value), exact ? "" : " (approximate)");
    calculate_set_details(call, ch_buf_sv(&value), exact);
    return 0;
}
