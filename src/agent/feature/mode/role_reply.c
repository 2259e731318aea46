/* role_reply.c -- see role_reply.h.
 *
 * Each role has a list of its members; a member has the names under which models give it. A value
 * that is of the right type is copied, another one is converted if only one reading is possible. */
#include "agent/feature/mode/role_reply.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/limits.h"
#include "base/mem.h"
#include "json/writer.h"
#include "prompt/reply_json.h"

#define MOST_TAKEN 32

struct mapping {
    struct ch_jw w;
    struct ch_arena *arena;
    struct ch_buf *notes; /* may be NULL */
    const struct ch_role_tools *tools;
    char where[24]; /* "step 2: ", for notes; may be empty */
};

/* The values of an object that were read, so that the others can be named. */
struct members {
    const struct ch_json *object;
    const struct ch_json *taken[MOST_TAKEN];
    size_t n;
};

static void note(struct mapping *m, const char *fmt, ...) CHELA_PRINTF(2, 3);
static void note(struct mapping *m, const char *fmt, ...) {
    va_list ap;
    if (!m->notes || m->notes->n > CH_LIMIT_ROLE_RESULT)
        return;
    va_start(ap, fmt);
    ch_buf_addf(m->notes, "%s%s", m->notes->n ? "\n" : "", m->where);
    ch_buf_vaddf(m->notes, fmt, ap);
    va_end(ap);
}

/* --- members ------------------------------------------------------------------------ */

/* names: the usual one first; NULL-terminated. NULL: the object has none of them. */
static const struct ch_json *take(struct mapping *m, struct members *o, const char *const *names) {
    for (size_t i = 0; names[i]; i++) {
        const struct ch_json *v = ch_json_get(o->object, names[i]);
        if (!v)
            continue;
        if (i > 0)
            note(m, "%s is read as %s", names[i], names[0]);
        if (o->n < MOST_TAKEN)
            o->taken[o->n++] = v;
        return v;
    }
    return NULL;
}

static bool is_taken(const struct members *o, const struct ch_json *v) {
    for (size_t i = 0; i < o->n; i++)
        if (o->taken[i] == v)
            return true;
    return false;
}

static void note_rest(struct mapping *m, const struct members *o) {
    for (CH_JSON_MEMBERS(k, v, o->object))
        if (!is_taken(o, v))
            note(m, "%.*s is left out", (int)CH_MIN(k->n, 60u), k->s);
}

static void write_text(struct mapping *m, const char *name, const struct ch_json *v,
                       bool required) {
    if (v && !ch_json_is(v, CH_JSON_NULL))
        ch_jw_kvalue(&m->w, name, v);
    else if (required)
        ch_jw_kcstr(&m->w, name, "");
}

#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

#define INPUT_NAMES \
    NAMES("tool_input", "input", "arguments", "args", "parameters", "params", "action_input")
#define CALL_INPUT_NAMES \
    NAMES("arguments", "args", "tool_input", "input", "parameters", "params")
#define TOOL_NAMES NAMES("tool_name", "tool", "name", "function")

/* --- the way out -------------------------------------------------------------------- */

static const struct {
    const char *said, *meant;
} exits[] = {
    {"clarify", "clarify"}, {"ask", "clarify"},   {"ask_user", "clarify"},
    {"clarification", "clarify"}, {"refuse", "refuse"}, {"reject", "refuse"},
    {"decline", "refuse"},
};

/* "clarify" or "refuse"; NULL: the word is neither. */
static const char *exit_of(struct ch_sv word) {
    for (size_t i = 0; i < CH_LEN(exits); i++)
        if (ch_sv_eq_nocase(ch_sv_trim(word), ch_sv_str(exits[i].said)))
            return exits[i].meant;
    return NULL;
}

/* Writes `action`, `question` and `reason`. usual: the actions of the role, separated by spaces.
 * *out: the way out; NULL: the reply goes on. False: the word is not an action; it is not
 * written. */
static bool write_action(struct mapping *m, struct members *o, const char *usual,
                         const char **out) {
    const struct ch_json *v = take(m, o, NAMES("action"));
    struct ch_sv word = ch_sv_trim(ch_json_str(v)), rest = ch_sv_str(usual);
    *out = exit_of(word);
    bool known = *out != NULL;
    while (!known && rest.n)
        known = ch_sv_eq(ch_sv_split(&rest, ' '), word);
    if (*out && !ch_sv_is(word, *out))
        note(m, "action %.*s is read as %s", CH_SV_FMT(word), *out);
    if (known)
        ch_jw_kstr(&m->w, "action", *out ? ch_sv_str(*out) : word);
    write_text(m, "question", take(m, o, NAMES("question")), false);
    write_text(m, "reason", take(m, o, NAMES("reason")), false);
    return known || !v || ch_json_is(v, CH_JSON_NULL);
}

/* --- the input of a tool ------------------------------------------------------------ */

static bool is_text(const struct ch_json *property) {
    return ch_sv_is(ch_json_get_str(property, "type"), "string");
}

static const char *tool_schema(const struct mapping *m, struct ch_sv tool) {
    return m->tools->schema ? m->tools->schema(tool, m->tools->user) : NULL;
}

/* The parameter that a bare text is for: the only required one that is a text, or the only
 * parameter at all. */
static struct ch_sv text_parameter(struct mapping *m, struct ch_sv tool) {
    const char *schema = tool_schema(m, tool);
    const struct ch_json *v = NULL;
    struct ch_sv found = {NULL, 0};
    size_t n = 0;
    if (!schema ||
        ch_json_parse(m->arena, ch_sv_str(schema), CH_JSON_STRICT, &v, NULL, NULL) < 0)
        return found;
    const struct ch_json *all = ch_json_get(v, "properties");
    const struct ch_json *required = ch_json_get(v, "required");
    for (CH_JSON_EACH(e, required))
        if (is_text(ch_json_get_sv(all, ch_json_str(e)))) {
            found = ch_json_str(e);
            n++;
        }
    if (!required || !required->n)
        for (CH_JSON_MEMBERS(k, p, all)) {
            found = is_text(p) ? ch_json_str(k) : found;
            n++;
        }
    return n == 1 ? found : ch_sv(NULL, 0);
}

static const struct ch_json *object_in(struct mapping *m, struct ch_sv text) {
    const struct ch_json *v = NULL;
    ch_json_parse(m->arena, ch_sv_trim(text), CH_JSON_REPLACE, &v, NULL, NULL);
    return ch_json_is(v, CH_JSON_OBJECT) ? v : NULL;
}

/* Writes the input of a tool as an object, if it can be read as one. */
static void write_input(struct mapping *m, const char *name, struct ch_sv tool,
                        const struct ch_json *v) {
    struct ch_sv text = ch_json_str(v), parameter;
    const struct ch_json *inner = text.p ? object_in(m, text) : NULL;
    ch_jw_key(&m->w, name);
    if (!v || ch_json_is(v, CH_JSON_NULL)) {
        ch_jw_raw(&m->w, CH_SV("{}"));
    } else if (inner) {
        note(m, "%s is JSON inside of a text", name);
        ch_jw_value(&m->w, inner);
    } else if (text.p && (parameter = text_parameter(m, tool)).n) {
        note(m, "%s is a text, and is taken for %.*s", name, CH_SV_FMT(parameter));
        ch_jw_begin(&m->w, '{');
        ch_jw_key_sv(&m->w, parameter);
        ch_jw_str(&m->w, text);
        ch_jw_end(&m->w, '}');
    } else {
        ch_jw_value(&m->w, v);
    }
}

/* --- router ------------------------------------------------------------------------- */

static bool map_router(struct mapping *m, const struct ch_json *v) {
    struct members o = {.object = v};
    const char *leaves;
    ch_jw_begin(&m->w, '{');
    write_text(m, "reasoning",
               take(m, &o, NAMES("reasoning", "reasoning_summary", "thought", "thoughts")), true);
    bool action = write_action(m, &o, "route", &leaves);
    const struct ch_json *tool =
        take(m, &o, NAMES("tool_name", "tool", "target", "name", "function"));
    if (!tool && !action && tool_schema(m, ch_json_get_str(v, "action"))) {
        tool = ch_json_get(v, "action");
        note(m, "action is read as tool_name");
    }
    const struct ch_json *input = take(m, &o, INPUT_NAMES);
    if (!tool && !leaves)
        return false;
    struct ch_sv name = tool ? ch_json_str(tool) : CH_SV("none");
    ch_jw_kstr(&m->w, "tool_name", name.p ? name : CH_SV("none"));
    write_input(m, "tool_input", name, input);
    const struct ch_json *sure = take(m, &o, NAMES("confidence"));
    if (sure)
        ch_jw_kvalue(&m->w, "confidence", sure);
    else
        ch_jw_kint(&m->w, "confidence", 1);
    ch_jw_end(&m->w, '}');
    note_rest(m, &o);
    return true;
}

/* --- planner ------------------------------------------------------------------------ */

/* The number of a step: 2, "2" or "step_2"; otherwise 0. */
static int64_t step_number(const struct ch_json *v) {
    struct ch_sv s = ch_json_str(v);
    int64_t n = ch_json_int(v, 0);
    size_t digits = 0;
    while (digits < s.n && digits < 6 && s.p[s.n - 1 - digits] >= '0' &&
           s.p[s.n - 1 - digits] <= '9')
        digits++;
    for (size_t i = s.n - digits; i < s.n; i++)
        n = n * 10 + (s.p[i] - '0');
    return n;
}

static void write_needs(struct mapping *m, const struct ch_json *v) {
    ch_jw_kbegin(&m->w, "depends_on", '[');
    for (CH_JSON_EACH(e, v))
        ch_jw_int(&m->w, step_number(e));
    if (v && !ch_json_is(v, CH_JSON_ARRAY) && step_number(v) > 0)
        ch_jw_int(&m->w, step_number(v));
    ch_jw_end(&m->w, ']');
}

static bool map_step(struct mapping *m, const struct ch_json *v, size_t position) {
    struct members o = {.object = v};
    snprintf(m->where, sizeof(m->where), "step %zu: ", position);
    const struct ch_json *id = take(m, &o, NAMES("step_id", "id", "step"));
    const struct ch_json *tool = take(m, &o, TOOL_NAMES);
    const struct ch_json *text =
        take(m, &o, NAMES("description", "task", "title", "goal"));
    struct ch_sv name = ch_json_str(tool);
    if (!ch_json_is(v, CH_JSON_OBJECT) || (!tool && !text))
        return false;
    if (!text)
        note(m, "it has no description; the tool's name is taken for one");
    ch_jw_begin(&m->w, '{');
    ch_jw_kint(&m->w, "step_id", id ? step_number(id) : (int64_t)position);
    if (text)
        ch_jw_kvalue(&m->w, "description", text);
    else
        ch_jw_kstr(&m->w, "description", name);
    ch_jw_kstr(&m->w, "tool_name", name.n ? name : CH_SV("none"));
    write_input(m, "tool_input", name, take(m, &o, INPUT_NAMES));
    write_needs(m, take(m, &o, NAMES("depends_on", "dependencies", "needs")));
    ch_jw_end(&m->w, '}');
    note_rest(m, &o);
    return true;
}

static bool write_steps(struct mapping *m, const struct ch_json *list) {
    size_t n = 0;
    bool all = true;
    ch_jw_kbegin(&m->w, "plan", '[');
    for (CH_JSON_EACH(e, list))
        all = all && map_step(m, e, ++n);
    if (ch_json_is(list, CH_JSON_OBJECT))
        all = map_step(m, list, ++n);
    m->where[0] = '\0';
    ch_jw_end(&m->w, ']');
    ch_jw_kint(&m->w, "estimated_steps", (int64_t)n);
    ch_jw_kraw(&m->w, "can_parallelize", CH_SV("[]")); /* what depends on what decides */
    return all;
}

/* True: the object is a step without a plan around it. */
static bool is_step(const struct ch_json *v) {
    return ch_json_get(v, "step_id") || ch_json_get(v, "tool_name") || ch_json_get(v, "tool");
}

static bool map_planner(struct mapping *m, const struct ch_json *v) {
    struct members o = {.object = v};
    const char *leaves = NULL;
    const struct ch_json *steps = ch_json_is(v, CH_JSON_ARRAY) ? v : NULL;
    ch_jw_begin(&m->w, '{');
    if (steps)
        note(m, "a list without an object around it is read as plan");
    const struct ch_json *why = take(m, &o, NAMES("analysis", "reasoning", "thought", "thoughts"));
    write_text(m, "analysis", why, true);
    write_action(m, &o, "plan", &leaves);
    if (!steps)
        steps = take(m, &o, NAMES("plan", "steps", "tasks", "sub_tasks", "subtasks"));
    if (ch_json_is(ch_json_get(steps, "steps"), CH_JSON_ARRAY))
        steps = ch_json_get(steps, "steps");
    if (!steps && is_step(v)) {
        note(m, "a step without a list around it is read as plan");
        steps = v;
        o.object = NULL;
    }
    take(m, &o, NAMES("estimated_steps"));
    take(m, &o, NAMES("can_parallelize"));
    bool good = (leaves || (steps && steps->n)) && write_steps(m, leaves ? NULL : steps);
    ch_jw_end(&m->w, '}');
    note_rest(m, &o);
    return good;
}

/* --- executor ----------------------------------------------------------------------- */

static bool map_call(struct mapping *m, const struct ch_json *v) {
    struct members o = {.object = v};
    const struct ch_json *tool = take(m, &o, NAMES("name", "tool_name", "tool", "function"));
    if (!ch_json_is(tool, CH_JSON_STRING))
        return false;
    ch_jw_kbegin(&m->w, "tool_call", '{');
    ch_jw_kvalue(&m->w, "name", tool);
    write_input(m, "arguments", ch_json_str(tool),
                take(m, &o, CALL_INPUT_NAMES));
    ch_jw_end(&m->w, '}');
    return true;
}

static bool map_executor(struct mapping *m, const struct ch_json *v) {
    struct members o = {.object = v};
    const char *leaves;
    ch_jw_begin(&m->w, '{');
    write_action(m, &o, "call answer", &leaves);
    const struct ch_json *call = take(m, &o, NAMES("tool_call", "call"));
    const struct ch_json *list = take(m, &o, NAMES("tool_calls"));
    const struct ch_json *answer = take(m, &o, NAMES("answer"));
    if (!call && ch_json_is(list, CH_JSON_ARRAY) && list->n == 1) {
        note(m, "tool_calls is read as tool_call");
        call = list + 1;
    }
    call = call || answer || leaves ? call : v;
    const struct ch_json *inner = ch_json_get(call, "function");
    bool calls = call && map_call(m, ch_json_is(inner, CH_JSON_OBJECT) ? inner : call);
    if (call == v && calls)
        o.object = NULL; /* its members were noted as those of the call */
    if (answer)
        ch_jw_kvalue(&m->w, "answer", answer);
    write_text(m, "explanation", take(m, &o, NAMES("explanation", "reasoning", "thought")), true);
    ch_jw_end(&m->w, '}');
    note_rest(m, &o);
    return calls || answer || leaves;
}

/* --- reflector ---------------------------------------------------------------------- */

static const char *const criteria[] = {"completeness", "correctness", "format"};

/* A score from 1 to 5: a number, its text, or "4/5"; otherwise 0. */
static int64_t score_of(const struct ch_json *v) {
    struct ch_sv s = ch_sv_trim(ch_json_str(v));
    int64_t n;
    if (ch_json_as_int(v, &n))
        return n;
    bool one = s.n == 1 || (s.n == 3 && ch_sv_ends(s, "/5"));
    return one && s.p[0] >= '1' && s.p[0] <= '5' ? s.p[0] - '0' : 0;
}

static bool write_score(struct mapping *m, const char *name, const struct ch_json *v) {
    bool bare = v && !ch_json_is(v, CH_JSON_OBJECT);
    const struct ch_json *given = bare ? v : ch_json_get(v, "score");
    int64_t score = score_of(given);
    if (bare)
        note(m, "%s is a score without a reason", name);
    ch_jw_kbegin(&m->w, name, '{');
    if (score)
        ch_jw_kint(&m->w, "score", score);
    else
        ch_jw_kvalue(&m->w, "score", given);
    ch_jw_kstr(&m->w, "reason", bare ? CH_SV("") : ch_json_get_str(v, "reason"));
    ch_jw_end(&m->w, '}');
    return given != NULL;
}

static bool write_evaluation(struct mapping *m, const struct ch_json *v) {
    bool all = true;
    ch_jw_kbegin(&m->w, "evaluation", '{');
    for (size_t i = 0; i < CH_LEN(criteria); i++)
        all &= write_score(m, criteria[i], ch_json_get(v, criteria[i]));
    ch_jw_end(&m->w, '}');
    return all;
}

/* The judge leaves the decision to a person: it counts as not good enough. */
static void write_escalation(struct mapping *m) {
    note(m, "the way out is read as escalate");
    ch_jw_kraw(&m->w, "evaluation",
               CH_SV("{\"completeness\":{\"score\":1,\"reason\":\"\"},\"correctness\":{\"score\":1,"
                     "\"reason\":\"\"},\"format\":{\"score\":1,\"reason\":\"\"}}"));
    ch_jw_kcstr(&m->w, "action", "escalate");
}

static void write_verdict(struct mapping *m, struct ch_sv word) {
    static const struct {
        const char *said, *meant;
    } verdicts[] = {
        {"accept", "accept"}, {"accepted", "accept"},     {"pass", "accept"},
        {"retry_step", "retry_step"}, {"retry", "retry_step"}, {"replan", "replan"},
        {"escalate", "escalate"},
    };
    for (size_t i = 0; i < CH_LEN(verdicts); i++)
        if (ch_sv_eq_nocase(word, ch_sv_str(verdicts[i].said))) {
            if (!ch_sv_is(word, verdicts[i].meant))
                note(m, "action %.*s is read as %s", CH_SV_FMT(word), verdicts[i].meant);
            ch_jw_kcstr(&m->w, "action", verdicts[i].meant);
            return;
        }
    if (word.n)
        note(m, "action %.*s is left out", (int)CH_MIN(word.n, 60u), word.p);
}

static void write_retry(struct mapping *m, const struct ch_json *v) {
    struct members o = {.object = v};
    const struct ch_json *change = take(m, &o, NAMES("modification", "change"));
    int64_t step = step_number(take(m, &o, NAMES("step_id", "step", "id")));
    if (!ch_json_is(v, CH_JSON_OBJECT))
        return;
    ch_jw_kbegin(&m->w, "retry_details", '{');
    if (step > 0)
        ch_jw_kint(&m->w, "step_id", step);
    if (ch_json_is(change, CH_JSON_STRING))
        ch_jw_kvalue(&m->w, "modification", change);
    ch_jw_end(&m->w, '}');
    note_rest(m, &o);
}

static bool map_reflector(struct mapping *m, const struct ch_json *v) {
    struct members o = {.object = v};
    const struct ch_json *scores = take(m, &o, NAMES("evaluation", "scores", "ratings"));
    struct ch_sv action = ch_sv_trim(ch_json_str(take(m, &o, NAMES("action", "decision"))));
    bool leaves = exit_of(action) != NULL;
    ch_jw_begin(&m->w, '{');
    if (!scores && ch_json_get(v, "correctness")) {
        note(m, "scores without evaluation around them are read as evaluation");
        scores = v;
        for (size_t i = 0; i < CH_LEN(criteria); i++)
            take(m, &o, NAMES(criteria[i]));
    }
    bool scored = scores && write_evaluation(m, scores);
    if (!scored && (scores || !leaves))
        return false;
    if (scored)
        write_verdict(m, leaves ? CH_SV("escalate") : action);
    else
        write_escalation(m);
    const struct ch_json *pass = take(m, &o, NAMES("overall_pass", "pass"));
    if (ch_json_is(pass, CH_JSON_TRUE) || ch_json_is(pass, CH_JSON_FALSE))
        ch_jw_kvalue(&m->w, "overall_pass", pass);
    write_retry(m, take(m, &o, NAMES("retry_details", "retry")));
    const char *asks = leaves ? "reason" : "question";
    write_text(m, "question", take(m, &o, NAMES("question", asks)), false);
    ch_jw_end(&m->w, '}');
    note_rest(m, &o);
    return true;
}

/* --- listener ----------------------------------------------------------------------- */

static bool map_listener(struct mapping *m, const struct ch_json *v) {
    struct members o = {.object = v};
    const struct ch_json *speak = take(m, &o, NAMES("speak", "should_speak", "reply", "respond"));
    if (!speak)
        return false;
    ch_jw_begin(&m->w, '{');
    ch_jw_kvalue(&m->w, "speak", speak);
    write_text(m, "why", take(m, &o, NAMES("why", "reason", "reasoning")), true);
    ch_jw_end(&m->w, '}');
    note_rest(m, &o);
    return true;
}

/* --- the reply ---------------------------------------------------------------------- */

static bool (*const maps[CH_ROLES])(struct mapping *m, const struct ch_json *v) = {
    [CH_ROLE_ROUTER] = map_router,       [CH_ROLE_PLANNER] = map_planner,
    [CH_ROLE_EXECUTOR] = map_executor,   [CH_ROLE_REFLECTOR] = map_reflector,
    [CH_ROLE_LISTENER] = map_listener,
};

/* The text between the last <action> and </action>; otherwise all of it. */
static struct ch_sv decision_in(struct ch_sv text, bool *tagged) {
    static const char open[] = "<action>", close[] = "</action>";
    struct ch_sv found = text;
    const char *p = text.p, *end = text.p + text.n;
    *tagged = false;
    while (p && (p = memmem(p, (size_t)(end - p), open, strlen(open)))) {
        p += strlen(open);
        const char *stop = memmem(p, (size_t)(end - p), close, strlen(close));
        if (!stop)
            break;
        found = ch_sv(p, (size_t)(stop - p));
        *tagged = true;
    }
    return found;
}

static void note_around(struct mapping *m, struct ch_reply_json *values, bool tagged) {
    if (tagged)
        note(m, "only the text between <action> and </action> is read");
    if (values->corrected)
        note(m, "comments or small mistakes were removed from the JSON");
    if (ch_reply_json_next(values, m->arena))
        note(m, "more JSON follows, and is not read");
}

bool ch_role_reply_read(enum ch_role_kind role, struct ch_sv text,
                        const struct ch_role_tools *tools, struct ch_buf *json,
                        struct ch_buf *notes) {
    static const struct ch_role_tools none;
    CH_ARENA_AUTO arena = {0};
    bool tagged;
    struct ch_reply_json values = {.text = decision_in(text, &tagged)};
    for (const struct ch_json *v; (v = ch_reply_json_next(&values, &arena));) {
        size_t before = json->n, noted = notes ? notes->n : 0;
        struct mapping m = {.w = ch_jw(json),
                            .arena = &arena,
                            .notes = notes,
                            .tools = tools ? tools : &none};
        if (maps[role](&m, v)) {
            note_around(&m, &values, tagged);
            return true;
        }
        json->n = before;
        if (notes)
            notes->n = noted;
    }
    return false;
}
