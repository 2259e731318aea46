/* policies.c -- see policies.h. */
#include "tool/registry/policies.h"

#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/opts.h"
#include "base/wild.h"

struct row {
    char *id, *channel;       /* owned */
    char **senders, **except; /* owned, NULL-terminated; NULL: no list */
    struct ch_policy policy;
    enum ch_consent means; /* AUTO: not set */
};

struct ch_policies {
    struct row *rows;
    size_t n;
};

/* --- reading ------------------------------------------------------------------- */

static int policies_check(const struct chela_policy *p, struct chela_error *err) {
    const char *id = p->id ? p->id : "?";

    if (!p->channel || !*p->channel)
        return ch_fail(err, CHELA_EINVAL, "policy %s: channel is missing", id);
    if ((p->senders || p->except) && strpbrk(p->channel, "*?"))
        return ch_fail(err, CHELA_EINVAL,
                       "policy %s: it names senders, so its channel must be one name, not '%.80s': "
                       "an id means nothing elsewhere",
                       id, p->channel);
    return 0;
}

static int policies_read_row(struct row *r, const struct chela_policy *given,
                             struct chela_error *err) {
    struct chela_policy p;
    struct chela_error why = {0};

    int rc = CH_OPTS_NEED(chela_policy, &p, given, err);
    if (rc == 0)
        rc = policies_check(&p, err);
    if (rc < 0)
        return rc;
    r->id = ch_strdup(p.id ? p.id : "?");
    r->channel = ch_strdup(p.channel);
    r->senders = p.senders ? ch_strings_dup(p.senders) : NULL;
    r->except = p.except ? ch_strings_dup(p.except) : NULL;
    rc = ch_policy_init(&r->policy, p.allow, p.deny, p.permission, &why);
    if (rc == 0 && p.approve)
        rc = ch_consent_read(p.approve, &r->means, &why);
    return rc < 0 ? ch_fail(err, rc, "policy %s: %s", r->id, why.message) : 0;
}

int ch_policies_new(const struct chela_policy *const *list, struct ch_policies **out,
                    struct chela_error *err) {
    size_t n = 0;

    *out = NULL;
    while (list && list[n])
        n++;
    if (n == 0)
        return 0;
    if (n > CH_LIMIT_RULES)
        return ch_fail(err, CHELA_ELIMIT, "more than %d policies", CH_LIMIT_RULES);
    struct ch_policies *ps = ch_alloc(sizeof(*ps));
    ps->rows = ch_alloc(n * sizeof(*ps->rows));
    for (; ps->n < n; ps->n++) {
        int rc = policies_read_row(&ps->rows[ps->n], list[ps->n], err);
        if (rc == 0)
            continue;
        ps->n++; /* include the incomplete row, so that it is freed */
        ch_policies_free(ps);
        return rc;
    }
    *out = ps;
    return 0;
}

void ch_policies_free(struct ch_policies *ps) {
    if (!ps)
        return;
    for (size_t i = 0; i < ps->n; i++) {
        struct row *r = &ps->rows[i];
        ch_free(r->id);
        ch_free(r->channel);
        ch_strings_free(r->senders);
        ch_strings_free(r->except);
        ch_policy_release(&r->policy);
    }
    ch_free(ps->rows);
    ch_free(ps);
}

/* --- matching -------------------------------------------------------------------- */

static bool policies_has(char *const *list, const char *id) {
    for (size_t i = 0; list[i]; i++)
        if (ch_wild(ch_sv_str(list[i]), ch_sv_str(id)))
            return true;
    return false;
}

static bool policies_fits(const struct row *r, struct ch_who who) {
    const char *sender = who.sender ? who.sender : "";

    if (!who.channel || !ch_wild(ch_sv_str(r->channel), ch_sv_str(who.channel)))
        return false;
    if (r->except && *sender && policies_has(r->except, sender))
        return false;
    return !r->senders || policies_has(r->senders, sender);
}

struct ch_policy *ch_policies_bound(const struct ch_policies *ps, struct ch_who who,
                                    const struct ch_policy *within,
                                    const struct ch_policy **outer) {
    struct ch_policy *chain = NULL;
    size_t n = 0;

    *outer = within;
    for (size_t i = 0; ps && i < ps->n; i++) {
        if (!policies_fits(&ps->rows[i], who))
            continue;
        if (!chain) /* allocated once, so that `within` can point into it */
            chain = ch_alloc(ps->n * sizeof(*chain));
        chain[n] = ps->rows[i].policy;
        chain[n].within = *outer;
        *outer = &chain[n++];
    }
    return chain;
}

enum ch_consent ch_policies_consent(const struct ch_policies *ps, struct ch_who who,
                                    enum ch_consent means) {
    for (size_t i = 0; ps && i < ps->n; i++)
        if (policies_fits(&ps->rows[i], who))
            means = CH_MAX(means, ps->rows[i].means);
    return means;
}

bool ch_policies_same(const struct ch_policies *ps, struct ch_who a, struct ch_who b) {
    for (size_t i = 0; ps && i < ps->n; i++)
        if (policies_fits(&ps->rows[i], a) != policies_fits(&ps->rows[i], b))
            return false;
    return true;
}

const char *ch_policies_each(const struct ch_policies *ps, struct ch_who who, size_t *at) {
    for (; ps && *at < ps->n; (*at)++)
        if (policies_fits(&ps->rows[*at], who))
            return ps->rows[(*at)++].id;
    return NULL;
}
