/* reflect.c -- see reflect.h. */
#include "agent/feature/mode/reflect.h"

#include "base/error.h"
#include "base/mem.h"
#include "json/json.h"

static const char *const names[] = {
    [CH_REFLECT_ACCEPT] = "accept",
    [CH_REFLECT_RETRY_STEP] = "retry_step",
    [CH_REFLECT_REPLAN] = "replan",
    [CH_REFLECT_ESCALATE] = "escalate",
};

/* --- reading the judge's answer ----------------------------------------------------- */

static int read_score(const struct ch_json *evaluation, const char *name, int *out,
                      struct chela_error *err) {
    int64_t score;
    if (!ch_json_as_int(ch_json_path(evaluation, name, "score", NULL), &score) || score < 1 ||
        score > 5)
        return ch_fail(err, CHELA_EINVAL, "evaluation.%s.score: expected a number from 1 to 5",
                       name);
    *out = (int)score;
    return 0;
}

static int reflect_read_action(const struct ch_json *root, enum ch_reflect_action *out,
                               struct chela_error *err) {
    struct ch_sv given = ch_json_get_str(root, "action");
    *out = CH_REFLECT_ACCEPT; /* without a proposal the scores alone decide */
    if (!given.n)
        return 0;
    for (size_t i = 0; i < CH_LEN(names); i++)
        if (ch_sv_is(given, names[i])) {
            *out = (enum ch_reflect_action)i;
            return 0;
        }
    return ch_fail(err, CHELA_EINVAL,
                   "action: expected accept, retry_step, replan or escalate");
}

/* The reasons of the scores that do not suffice, such as "correctness 2: ..." */
static const char *reflect_reasons(struct ch_arena *a, const struct ch_json *evaluation) {
    CH_BUF_AUTO text = {0};
    for (CH_JSON_MEMBERS(name, value, evaluation)) {
        int64_t score = ch_json_int(ch_json_get(value, "score"), 0);
        struct ch_sv reason = ch_sv_trim(ch_json_get_str(value, "reason"));
        if (score < 4 && reason.n)
            ch_buf_addf(&text, "%s%.*s %lld of 5: %.*s", text.n ? "; " : "",
                        CH_SV_FMT(ch_json_str(name)), (long long)score, CH_SV_FMT(reason));
    }
    return ch_arena_str(a, ch_buf_sv(&text));
}

int ch_reflect_read(struct ch_arena *a, struct ch_sv answer, struct ch_reflection *out,
                    struct chela_error *err) {
    const struct ch_json *root;
    struct ch_reflection r = {0};
    int rc = ch_json_parse(a, answer, CH_JSON_STRICT, &root, NULL, err);
    if (rc < 0)
        return rc;
    const struct ch_json *evaluation = ch_json_get(root, "evaluation");
    const struct ch_json *retry = ch_json_get(root, "retry_details");
    if ((rc = read_score(evaluation, "completeness", &r.completeness, err)) < 0 ||
        (rc = read_score(evaluation, "correctness", &r.correctness, err)) < 0 ||
        (rc = read_score(evaluation, "format", &r.format, err)) < 0 ||
        (rc = reflect_read_action(root, &r.proposed, err)) < 0)
        return rc;
    r.step = ch_json_int(ch_json_get(retry, "step_id"), 0);
    r.modification = ch_arena_str(a, ch_json_get_str(retry, "modification"));
    r.question = ch_arena_str(a, ch_json_get_str(root, "question"));
    r.reasons = reflect_reasons(a, evaluation);
    *out = r;
    return 0;
}

/* --- the decision --------------------------------------------------------------------- */

/* The kind of the next attempt: the proposed one, or else a retry of the named step, or
 * else a new plan. */
static enum ch_reflect_action again(const struct ch_reflection *r) {
    if (r->proposed == CH_REFLECT_REPLAN || r->proposed == CH_REFLECT_RETRY_STEP)
        return r->proposed;
    return r->step > 0 ? CH_REFLECT_RETRY_STEP : CH_REFLECT_REPLAN;
}

static struct ch_reflect_decision reflect_decide(const struct ch_reflection *r,
                                                 const struct ch_reflect_state *s) {
    int least = CH_MIN(CH_MIN(r->completeness, r->correctness), r->format);
    bool left = s->retries < CH_REFLECT_RETRIES;
    if (least >= 4)
        return (struct ch_reflect_decision){.action = CH_REFLECT_ACCEPT};
    if (least == 3 && (s->doubted || !left))
        return (struct ch_reflect_decision){.action = CH_REFLECT_ACCEPT, .warn = true};
    if (!left || (least <= 2 && r->proposed == CH_REFLECT_ESCALATE))
        return (struct ch_reflect_decision){.action = CH_REFLECT_ESCALATE};
    return (struct ch_reflect_decision){.action = again(r)};
}

struct ch_reflect_decision ch_reflect_decide(const struct ch_reflection *r,
                                             struct ch_reflect_state *s) {
    int least = CH_MIN(CH_MIN(r->completeness, r->correctness), r->format);
    struct ch_reflect_decision d = reflect_decide(r, s);
    if (d.action == CH_REFLECT_RETRY_STEP || d.action == CH_REFLECT_REPLAN) {
        s->retries++;
        s->doubted |= least == 3;
    }
    return d;
}
