/* fixed_plan.c -- see fixed_plan.h. The short names of the file are replaced by the names of
 * a planner's plan. A file may also use the planner's names. */
#include "agent/feature/mode/fixed_plan.h"

#include <string.h>

#include "agent/feature/mode/plan_steps.h"
#include "base/error.h"
#include "base/file.h"
#include "base/limits.h"
#include "json/writer.h"
#include "json/yaml.h"

struct loading {
    const char *path;
    struct ch_yaml yaml;
    struct chela_error *err;
};

static int fixed_plan_refuse(struct loading *l, const struct ch_json *at, const char *why) {
    struct ch_json_where w = ch_yaml_where(&l->yaml, at);
    return ch_fail(l->err, CHELA_EINVAL, "%s:%u:%u: %s", l->path, w.line, w.column, why);
}

static const struct ch_json *either(const struct ch_json *v, const char *a, const char *b) {
    const struct ch_json *found = ch_json_get(v, a);
    return found ? found : ch_json_get(v, b);
}

static int check_names(struct loading *l, const struct ch_json *v, const char *known) {
    for (CH_JSON_MEMBERS(key, value, v)) {
        CH_BUF_AUTO word = {0};
        CH_BUF_AUTO why = {0};
        (void)value;
        ch_buf_addc(&word, ' ');
        ch_buf_add_sv(&word, ch_json_str(key));
        ch_buf_addc(&word, ' ');
        CH_BUF_LIT(&why, "unknown key '");
        ch_buf_add_sv(&why, ch_json_str(key));
        ch_buf_addf(&why, "'; known:%s", known);
        if (!strstr(known, ch_buf_str(&word)))
            return fixed_plan_refuse(l, key, ch_buf_str(&why));
    }
    return 0;
}

static void write_member(struct ch_jw *w, const char *name, const struct ch_json *v) {
    if (!v)
        return;
    ch_jw_kvalue(w, name, v);
}

static int write_step(struct loading *l, const struct ch_json *v, struct ch_jw *w) {
    static const char known[] =
        " id step_id description tool tool_name input tool_input needs depends_on ask when ";
    const struct ch_json *ask = ch_json_get(v, "ask"), *tool = either(v, "tool", "tool_name"),
                         *input = either(v, "input", "tool_input"),
                         *text = ch_json_get(v, "description");
    if (!ch_json_is(v, CH_JSON_OBJECT))
        return fixed_plan_refuse(l, v, "a step is a mapping");
    int rc = check_names(l, v, known);
    if (rc < 0)
        return rc;
    if (!ask == !tool)
        return fixed_plan_refuse(l, v, "a step has either `tool` or `ask`");
    if (!ch_json_is(ask ? ask : tool, CH_JSON_STRING))
        return fixed_plan_refuse(l, ask ? ask : tool, "expected a text");
    ch_jw_begin(w, '{');
    write_member(w, "step_id", either(v, "id", "step_id"));
    write_member(w, "description", ask ? ask : text ? text : tool);
    ch_jw_kstr(w, "tool_name", ask ? CH_SV("none") : ch_json_str(tool));
    if (input)
        write_member(w, "tool_input", input);
    else
        ch_jw_kraw(w, "tool_input", CH_SV("{}"));
    write_member(w, "depends_on", either(v, "needs", "depends_on"));
    write_member(w, "when", ch_json_get(v, "when"));
    ch_jw_end(w, '}');
    return 0;
}

/* The answer is a text with references, or a list of these. */
static int write_answer(struct loading *l, const struct ch_json *v, struct ch_jw *w) {
    bool list = ch_json_is(v, CH_JSON_ARRAY);
    if (!v)
        return 0;
    if (!list && !ch_json_is(v, CH_JSON_STRING))
        return fixed_plan_refuse(l, v, "`answer` is a text or a list of texts");
    for (CH_JSON_EACH(e, list ? v : NULL))
        if (!ch_json_is(e, CH_JSON_STRING))
            return fixed_plan_refuse(l, e, "`answer` is a text or a list of texts");
    ch_jw_key(w, "answer");
    if (!list)
        ch_jw_begin(w, '[');
    ch_jw_value(w, v);
    if (!list)
        ch_jw_end(w, ']');
    return 0;
}

static int fixed_plan_write(struct loading *l, struct ch_jw *w) {
    const struct ch_json *v = l->yaml.root, *steps = ch_json_get(v, "steps");
    if (!ch_json_is(steps, CH_JSON_ARRAY))
        return fixed_plan_refuse(l, v, "a plan is a mapping with a list `steps`");
    int rc = check_names(l, v, " steps answer ");
    ch_jw_begin(w, '{');
    ch_jw_kbegin(w, "steps", '[');
    for (CH_JSON_EACH(e, steps))
        if (rc == 0)
            rc = write_step(l, e, w);
    ch_jw_end(w, ']');
    if (rc == 0)
        rc = write_answer(l, ch_json_get(v, "answer"), w);
    ch_jw_end(w, '}');
    return rc;
}

static bool any_tool(struct ch_sv tool, void *user) {
    (void)tool;
    (void)user;
    return true;
}

/* The tools of the agent are not known yet: of the built-in ones, exec takes a command line. */
static bool is_exec(struct ch_sv tool, struct ch_sv argument, void *user) {
    (void)argument;
    (void)user;
    return ch_sv_is(tool, "exec");
}

int ch_fixed_plan_load(struct ch_arena *a, const char *path, const struct ch_json **out,
                       struct chela_error *err) {
    static const struct ch_plan_tools any = {
        .known = any_tool, .is_command = is_exec, .fixed = true};
    struct loading l = {.path = path, .err = err};
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO text = {0};
    CH_BUF_AUTO json = {0};
    CH_BUF_AUTO why = {0};
    struct ch_jw w = ch_jw(&json);
    struct ch_plan_steps steps;
    const struct ch_json *plan;
    int rc = ch_file_load(path, CH_LIMIT_PLAN_FILE, &text, err);
    if (rc == 0)
        rc = ch_yaml_parse(&arena, ch_buf_sv(&text), path, &l.yaml, err);
    if (rc == 0)
        rc = fixed_plan_write(&l, &w);
    if (rc < 0)
        return rc;
    struct ch_sv copy = ch_arena_sv(a, ch_buf_sv(&json));
    rc = ch_json_parse(a, copy, CH_JSON_STRICT, &plan, NULL, err);
    if (rc == 0 && ch_plan_steps_read(ch_json_get(plan, "steps"), &any, &steps, &why) < 0)
        rc = ch_fail(err, CHELA_EINVAL, "%s: %s", path, ch_buf_str(&why));
    if (rc == 0)
        *out = plan;
    return rc;
}
