/* run_decisions.c -- see run_decisions.h. The id of an approval begins with "ap_"; other ids
 * name calls that the host carries out. */
#include "cli/command/run_decisions.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cli/support/draft.h"
#include "cli/support/problem.h"

#define AT(field) offsetof(struct ch_run_decisions, field)

static const struct decision_flag {
    const char *name, *value; /* value: NULL for a flag that takes an id alone */
    size_t at;                /* struct ch_texts */
} decision_flags[] = {
    {"allow", NULL, AT(allow)},
    {"refuse", NULL, AT(refuse)},
    {"edit", "JSON", AT(edit)},
    {"answer", "TEXT", AT(answer)},
};

static bool is_id(const struct chela_str *id, const char *text, size_t n) {
    return n == id->n && memcmp(text, id->p, n) == 0;
}

/* --- check */

/* 1: the waiting call has the id. */
static int decision_is_waiting(const char *call, size_t len, void *user) {
    static const char *const members[] = {"/approval_id", "/id"};
    bool same = false;
    for (int k = 0; k < 2 && !same; k++) {
        char *got = chela_json_get(call, len, members[k], NULL);
        same = got && is_id(user, got, strlen(got));
        chela_free(got);
    }
    return same;
}

static bool is_json(const char *text) {
    char *value = chela_json_get(text, strlen(text), "", NULL);
    bool is = value != NULL;
    chela_free(value);
    return is;
}

static int check_decision(const struct decision_flag *f, const char *given, const char *waiting,
                          const char *key, struct chela_error *err) {
    struct chela_str id = {given, f->value ? strcspn(given, "=") : strlen(given)};
    const char *value = given + id.n;
    if (f->value && (!*value || (strcmp(f->value, "JSON") == 0 && !is_json(value + 1))))
        return ch_problem(err, CHELA_EINVAL, "--%s wants ID=%s, not '%s'", f->name, f->value,
                          given);
    if (is_id(&id, "all", 3) ||
        chela_json_each(waiting, strlen(waiting), decision_is_waiting, &id) == 1)
        return CHELA_OK;
    return ch_problem(err, CHELA_EINVAL,
                      "session %s does not ask for approval %s; 'chela sessions show --json %s' "
                      "has what it waits for",
                      key, given, key);
}

int ch_run_decisions_check(const struct ch_run_decisions *d, chela_store *store, const char *key,
                           struct chela_error *err) {
    char *json;
    if (!(d->allow.n + d->refuse.n + d->edit.n + d->answer.n))
        return CHELA_OK;
    int rc = chela_store_show(store, key, &json, err);
    if (rc < 0)
        return rc;
    char *waiting = chela_json_get(json, strlen(json), "/waiting", NULL);
    for (size_t i = 0; i < sizeof(decision_flags) / sizeof(decision_flags[0]); i++) {
        const struct decision_flag *f = &decision_flags[i];
        const struct ch_texts *given = (const void *)((const char *)d + f->at);
        for (size_t k = 0; rc == 0 && k < given->n; k++)
            rc = check_decision(f, given->list[k], waiting ? waiting : "", key, err);
    }
    chela_free(waiting);
    chela_free(json);
    return rc;
}

/* --- use */

int ch_run_decisions_answer(const struct ch_run_decisions *d, chela_session *session,
                            struct chela_error *err) {
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < d->answer.n; i++) {
        const char *given = d->answer.list[i], *text = strchr(given, '=') + 1;
        if (strncmp(given, "ap_", 3) == 0)
            continue; /* ch_run_decisions_apply uses it */
        char *id = ch_format("%.*s", (int)(text - 1 - given), given);
        rc = chela_session_answer(session, id, text, strlen(text), 0, err);
        free(id);
    }
    return rc;
}

static bool decision_is_named(const struct ch_texts *given, const struct chela_str *id) {
    for (size_t i = 0; i < given->n; i++)
        if (strcmp(given->list[i], "all") == 0 || is_id(id, given->list[i], strlen(given->list[i])))
            return true;
    return false;
}

/* The value of "ID=VALUE"; NULL: the list does not name the id. */
static const char *value_for(const struct ch_texts *given, const struct chela_str *id) {
    for (size_t i = 0; i < given->n; i++) {
        size_t n = strcspn(given->list[i], "=");
        if (is_id(id, given->list[i], n) && given->list[i][n])
            return given->list[i] + n + 1;
    }
    return NULL;
}

bool ch_run_decisions_apply(const struct ch_run_decisions *d, struct chela_approval *a) {
    if (decision_is_named(&d->refuse, &a->approval_id))
        a->decision = CHELA_DENY;
    else if (decision_is_named(&d->allow, &a->approval_id))
        a->decision = CHELA_ALLOW_ONCE;
    else if ((a->reason = value_for(&d->edit, &a->approval_id)))
        a->decision = CHELA_EDIT;
    else if ((a->reason = value_for(&d->answer, &a->approval_id)))
        a->decision = CHELA_ANSWER;
    else
        return false;
    return true;
}
