/* budgets.c -- see budgets.h. */
#include "gateway/lane/budgets.h"

#include <stdio.h>

#include "agent/handle/run.h"
#include "agent/handle/run_origin.h"
#include "agent/journal/emit.h"
#include "agent/journal/journal.h"
#include "agent/machine/event.h"
#include "agent/run/driver.h"
#include "base/calendar.h"
#include "base/grow.h"
#include "base/random_id.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/opts.h"
#include "base/wild.h"
#include "gateway/lane/lane.h"
#include "io/worker.h"
#include "store/budget_use.h"

#define READ_MS 1000     /* interval of readings while runs spend */
#define KEEP_DAYS 2      /* notes of earlier days are removed */
#define SHARED "(others)" /* the counter of all values beyond CH_LIMIT_BUDGET_COUNTERS */

struct budget { /* texts are owned; agent, channel and sender may be NULL */
    char *name, *agent, *channel, *sender;
    double cost_usd;
    int64_t tokens;
};

struct ch_budget_plan {
    struct budget *list; /* owned */
    size_t n;
};

struct budget_counter {
    uint64_t id;
    double own_cost, other_cost; /* cost caused by this process, by others */
    int64_t own_tokens, other_tokens;
};

struct budgets_reading;

struct ch_budgets {
    chela_gateway *gw;
    struct ch_budget_plan *plan; /* owned */
    char process[24];            /* names this process in notes */
    int64_t day;                 /* day of the counters: days since 1970 */
    struct budget_counter *counters; /* owned; sorted by id */
    size_t n, room;
    struct ch_list waits;            /* for the next reading */
    struct budgets_reading *reading; /* in progress; else NULL */
    int64_t read_at;                 /* monotonic: begin of the last reading */
};

static int64_t budgets_now(const struct ch_budgets *b) {
    return ch_now_ms(ch_loop_clock(b->gw->rt->loop));
}

/* --- counters */

/* Resets the use when the day has ended. */
static void budgets_turn_day(struct ch_budgets *b) {
    int64_t day = budgets_now(b) / CH_BUDGET_DAY_MS;
    if (day == b->day)
        return;
    b->day = day;
    b->n = 0;
}

/* The index of the counter, or of its place. */
static size_t budgets_find(const struct ch_budgets *b, uint64_t id) {
    size_t from = 0, to = b->n;
    while (from < to) {
        size_t mid = from + (to - from) / 2;
        if (b->counters[mid].id < id)
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

/* Finds a counter; NULL: none. */
static const struct budget_counter *budgets_look(const struct ch_budgets *b, uint64_t id) {
    size_t at = budgets_find(b, id);
    return at < b->n && b->counters[at].id == id ? &b->counters[at] : NULL;
}

static struct budget_counter *budgets_need(struct ch_budgets *b, uint64_t id) {
    size_t at = budgets_find(b, id);
    if (at < b->n && b->counters[at].id == id)
        return &b->counters[at];
    CH_GROW(b->counters, b->n, b->room, 16);
    memmove(&b->counters[at + 1], &b->counters[at], (b->n - at) * sizeof(*b->counters));
    b->n++;
    b->counters[at] = (struct budget_counter){.id = id};
    return &b->counters[at];
}

/* --- who meets a budget */

static bool budget_varies(const char *pattern) {
    return pattern && strpbrk(pattern, "*?");
}

static bool budget_fits(const char *pattern, const char *value) {
    return !pattern || (value && ch_wild(ch_sv_str(pattern), ch_sv_str(value)));
}

static const char *spender_channel(const struct ch_spender *who) {
    return who->channel ? who->channel : CH_BUDGET_CHANNEL;
}

static bool budget_meets(const struct budget *g, const struct ch_spender *who) {
    return budget_fits(g->agent, who->agent) && budget_fits(g->channel, spender_channel(who)) &&
           budget_fits(g->sender, who->sender);
}

static void budget_add_part(struct ch_buf *of, const char *part) {
    ch_buf_addf(of, "%s%s", of->n ? "/" : "", part);
}

/* Appends the values of the patterns, which identify the counter. The channel precedes a
 * sender, because the id of a sender is valid in one channel only. */
static void budget_of(const struct budget *g, const struct ch_spender *who, struct ch_buf *of) {
    if (budget_varies(g->agent))
        budget_add_part(of, who->agent);
    if (budget_varies(g->channel) || g->sender)
        budget_add_part(of, spender_channel(who));
    if (g->sender)
        budget_add_part(of, who->sender);
}

/* The counter of a budget that `who` matches. If there are too many counters, new values
 * share one. */
static uint64_t budgets_counter_of(const struct ch_budgets *b, const struct budget *g,
                                   const struct ch_spender *who, struct ch_buf *of) {
    budget_of(g, who, of);
    uint64_t id = ch_budget_counter(g->name, ch_buf_sv(of));
    if (!of->n || b->n < CH_LIMIT_BUDGET_COUNTERS || budgets_look(b, id))
        return id;
    ch_buf_clear(of);
    ch_buf_add_str(of, SHARED);
    return ch_budget_counter(g->name, ch_buf_sv(of));
}

/* --- remaining budgets */

struct budget_state {
    const struct budget *budget; /* the first that is used up; NULL: none */
    struct ch_buf of;
    bool tokens; /* the limit on tokens was reached; otherwise the limit on the cost */
    double limit, used;
    int64_t tokens_left; /* the smallest rest of all budgets; negative: no limit */
    double cost_left;
};

static void budget_state_add(struct budget_state *s, const struct budget *g,
                             const struct budget_counter *c, struct ch_sv of) {
    double cost = c ? c->own_cost + c->other_cost : 0;
    int64_t tokens = c ? c->own_tokens + c->other_tokens : 0;
    double cost_left = g->cost_usd - cost;
    int64_t tokens_left = g->tokens - tokens;
    bool no_cost = g->cost_usd > 0 && cost_left <= 0, no_tokens = g->tokens > 0 && tokens_left <= 0;
    if (g->cost_usd > 0 && (s->cost_left < 0 || s->cost_left > cost_left))
        s->cost_left = CH_MAX(cost_left, 0.0);
    if (g->tokens > 0 && (s->tokens_left < 0 || s->tokens_left > tokens_left))
        s->tokens_left = CH_MAX(tokens_left, 0);
    if (s->budget || (!no_cost && !no_tokens))
        return;
    s->budget = g;
    ch_buf_add_sv(&s->of, of);
    s->tokens = !no_cost;
    s->limit = no_cost ? g->cost_usd : (double)g->tokens;
    s->used = no_cost ? cost : (double)tokens;
}

/* The caller releases s->of. */
static void budgets_state(struct ch_budgets *b, const struct ch_spender *who,
                          struct budget_state *s) {
    *s = (struct budget_state){.tokens_left = -1, .cost_left = -1};
    budgets_turn_day(b);
    for (size_t i = 0; b->plan && i < b->plan->n; i++) {
        const struct budget *g = &b->plan->list[i];
        CH_BUF_AUTO of = {0};
        if (!budget_meets(g, who))
            continue;
        uint64_t id = budgets_counter_of(b, g, who, &of);
        budget_state_add(s, g, budgets_look(b, id), ch_buf_sv(&of));
    }
}

static int64_t budgets_resets(const struct ch_budgets *b) {
    return (b->day + 1) * CH_BUDGET_DAY_MS;
}

/* "The budget people of feishu/ou_1 is used up: 1.02 of 1.00 USD today. It resets at ..." */
static void budgets_explain(const struct ch_budgets *b, const struct budget_state *s,
                            struct ch_buf *out) {
    struct ch_date at = ch_date_of(budgets_resets(b) / 1000);
    ch_buf_addf(out, "The budget '%s'%s%.*s is used up: ", s->budget->name,
                s->of.n ? " of " : "", CH_SV_FMT(s->of));
    if (s->tokens)
        ch_buf_addf(out, "%.0f of %.0f tokens today.", s->used, s->limit);
    else
        ch_buf_addf(out, "%.4g of %.4g USD today.", s->used, s->limit);
    ch_buf_addf(out, " It resets on %04d-%02d-%02d at 00:00 UTC.", at.year, at.month, at.day);
}

static struct chela_event budgets_event(const struct ch_budgets *b, const struct budget_state *s) {
    return (struct chela_event){.type = CHELA_EV_BUDGET,
                                .budget = {.name = s->budget->name,
                                           .of = ch_str(ch_buf_sv(&s->of)),
                                           .tokens = s->tokens,
                                           .limit = s->limit,
                                           .used = s->used,
                                           .resets = budgets_resets(b)}};
}

int ch_budgets_admit(chela_gateway *gw, const struct ch_spender *who, struct chela_error *err) {
    struct ch_budgets *b = gw->budgets;
    struct budget_state s;
    CH_BUF_AUTO why = {0};
    budgets_state(b, who, &s);
    if (!s.budget)
        return 0;
    budgets_explain(b, &s, &why);
    ch_log(CH_LOG_WARN, "gateway", "a message is refused: %s", ch_buf_str(&why));
    gw->counters.budget_refusals++;
    if (gw->on_event) {
        struct chela_event ev = budgets_event(b, &s);
        ev.run = "";
        ev.ts = budgets_now(b);
        gw->on_event(&ev, gw->user);
    }
    ch_buf_release(&s.of);
    ch_fail(err, CHELA_EBUDGET, "%s", ch_buf_str(&why));
    if (err)
        err->retry_after_ms = (long)(budgets_resets(b) - budgets_now(b));
    return CHELA_EBUDGET;
}

bool ch_budgets_limits(const chela_gateway *gw, struct ch_sv name, double *cost_usd,
                       int64_t *tokens) {
    const struct ch_budget_plan *plan = gw->budgets->plan;
    for (size_t i = 0; plan && i < plan->n; i++)
        if (ch_sv_is(name, plan->list[i].name)) {
            *cost_usd = plan->list[i].cost_usd;
            *tokens = plan->list[i].tokens;
            return true;
        }
    return false;
}

/* --- counting */

static void budgets_store(struct ch_budgets *b, const struct budget *g,
                          const struct budget_counter *c, const char *of) {
    struct ch_journal *j = b->gw->rt->journal;
    CH_BUF_AUTO id = {0}, data = {0};
    struct chela_budget_use use = {.name = g->name,
                                   .of = of,
                                   .cost_usd = c->own_cost,
                                   .tokens = c->own_tokens,
                                   .limit_usd = g->cost_usd,
                                   .limit_tokens = g->tokens};
    if (!j)
        return;
    ch_budget_note_id(&id, b->day, c->id, b->process);
    ch_budget_note_write(&data, &use);
    struct chela_store_change change = {.kind = CHELA_STORE_NOTE,
                                        .id = ch_buf_str(&id),
                                        .key = "",
                                        .data = data.p,
                                        .n = data.n,
                                        .now = budgets_now(b)};
    j->ops->change(j, &change, CH_SYNC_COMMIT, NULL, NULL);
}

static void budgets_add(struct ch_budgets *b, const struct ch_spender *who, int64_t tokens,
                        double cost) {
    budgets_turn_day(b);
    for (size_t i = 0; b->plan && i < b->plan->n; i++) {
        const struct budget *g = &b->plan->list[i];
        CH_BUF_AUTO of = {0};
        if (!budget_meets(g, who))
            continue;
        struct budget_counter *c = budgets_need(b, budgets_counter_of(b, g, who, &of));
        c->own_tokens += tokens;
        c->own_cost += cost;
        budgets_store(b, g, c, ch_buf_str(&of));
    }
}

static struct ch_spender spender_of(const chela_run *run) {
    const struct ch_principal *p = ch_run_origin_principal(run);
    return (struct ch_spender){run->session->agent->id, p->channel, p->sender};
}

static int64_t budgets_tokens(const struct ch_usage *u) {
    return u->input + u->output;
}

/* A run that begins, or that an earlier process began: its use so far was counted then. */
static void spending_follow(struct ch_lane_spending *s, const chela_run *run) {
    if (strcmp(s->run, run->id) == 0)
        return;
    snprintf(s->run, sizeof(s->run), "%s", run->id);
    s->tokens = budgets_tokens(&run->m.usage);
    s->cost = run->m.cost;
}

static struct ch_lane *spending_lane(struct ch_spending *s) {
    return CH_CONTAINER(CH_CONTAINER(s, struct ch_lane_spending, is), struct ch_lane, spending);
}

static void spending_count(struct ch_spending *is, chela_run *run) {
    struct ch_lane *l = spending_lane(is);
    struct ch_lane_spending *s = &l->spending;
    spending_follow(s, run);
    int64_t tokens = budgets_tokens(&run->m.usage) - s->tokens;
    double cost = run->m.cost - s->cost;
    if (tokens <= 0 && cost <= 0)
        return;
    s->tokens += tokens;
    s->cost += cost;
    struct ch_spender who = spender_of(run);
    budgets_add(l->gw->budgets, &who, CH_MAX(tokens, 0), CH_MAX(cost, 0.0));
}

static void budgets_read(struct ch_budgets *b);

static void spending_bound(struct ch_spending *is, chela_run *run) {
    struct ch_lane *l = spending_lane(is);
    struct ch_budgets *b = l->gw->budgets;
    struct ch_spender who = spender_of(run);
    struct budget_state s;
    spending_follow(&l->spending, run);
    if (!b->plan || !b->plan->n) /* no budgets, or none since a reload */
        s = (struct budget_state){.tokens_left = -1, .cost_left = -1};
    else
        budgets_state(b, &who, &s);
    ch_run_limit_spending(run, s.tokens_left < 0 ? -1 : l->spending.tokens + s.tokens_left,
                          s.cost_left < 0 ? -1 : l->spending.cost + s.cost_left);
    ch_buf_release(&s.of);
    if (ch_mono_ms(ch_loop_clock(b->gw->rt->loop)) - b->read_at >= READ_MS)
        budgets_read(b);
}

static void spending_recalled(struct ch_spending *is, const struct ch_spent *spent) {
    struct ch_lane_spending *s = CH_CONTAINER(is, struct ch_lane_spending, is);
    s->tokens += budgets_tokens(&spent->usage);
    s->cost += CH_MAX(spent->cost, 0.0);
}

static void spending_stopped(struct ch_spending *is, chela_run *run,
                             char error[CHELA_ERROR_MAX]) {
    struct ch_budgets *b = spending_lane(is)->gw->budgets;
    struct ch_spender who = spender_of(run);
    struct budget_state s;
    budgets_state(b, &who, &s);
    if (s.budget) { /* otherwise the agent's own limit was reached */
        CH_BUF_AUTO why = {0};
        struct chela_event ev = budgets_event(b, &s);
        budgets_explain(b, &s, &why);
        snprintf(error, CHELA_ERROR_MAX, "%s", ch_buf_str(&why));
        ch_emit(run, &ev);
    }
    ch_buf_release(&s.of);
}

void ch_budgets_attach(struct ch_lane *l) {
    l->spending = (struct ch_lane_spending){.is = {.bound = spending_bound,
                                                   .count = spending_count,
                                                   .recalled = spending_recalled,
                                                   .stopped = spending_stopped}};
    l->session->spending = &l->spending.is;
}

void ch_budgets_count(struct ch_lane *l) {
    if (l->run && l->run->session)
        spending_count(&l->spending.is, l->run);
}

/* --- reading what others spent, on a worker thread */

struct budgets_other {
    uint64_t id;
    int64_t tokens;
    double cost;
};

struct budgets_reading {
    struct ch_work work;
    struct ch_budgets *owner; /* NULL: the gateway was closed */
    chela_store *store;
    char process[24];
    int64_t day;
    struct ch_list waits;
    struct budgets_other *list; /* owned */
    size_t n;
    struct ch_buf old; /* ids of notes to be removed, each NUL-terminated */
    int rc;
    struct chela_error err;
};

static int budgets_on_note(const struct chela_store_item *i, void *user) {
    struct budgets_reading *r = user;
    CH_ARENA_AUTO arena = {0};
    struct ch_budget_note note;
    if (!ch_budget_note_read(i, &arena, &note))
        return 0;
    if (note.day + KEEP_DAYS <= r->day)
        ch_buf_add(&r->old, i->id, strlen(i->id) + 1);
    if (note.day != r->day || strcmp(note.process, r->process) == 0)
        return 0;
    if (r->n % 64 == 0)
        r->list = ch_realloc(r->list, (r->n + 64) * sizeof(*r->list));
    r->list[r->n++] = (struct budgets_other){note.counter, note.use.tokens, note.use.cost_usd};
    return r->n == 2 * CH_LIMIT_BUDGET_COUNTERS; /* room for the counters of several processes */
}

static void budgets_run(struct ch_work *w) {
    struct budgets_reading *r = CH_CONTAINER(w, struct budgets_reading, work);
    r->rc = chela_store_items(r->store, CHELA_STORE_NOTES, budgets_on_note, r, &r->err);
}

static void budgets_drop_reading(struct ch_work *w) {
    struct budgets_reading *r = CH_CONTAINER(w, struct budgets_reading, work);
    if (r->owner)
        r->owner->reading = NULL;
    while (!ch_list_empty(&r->waits))
        ch_list_del(r->waits.head.next);
    ch_buf_release(&r->old);
    ch_free(r->list);
    ch_free(r);
}

static void budgets_forget_old(struct ch_budgets *b, const struct ch_buf *ids) {
    struct ch_journal *j = b->gw->rt->journal;
    for (size_t at = 0; j && at < ids->n; at += strlen(ids->p + at) + 1) {
        struct chela_store_change c = {.kind = CHELA_STORE_FORGET, .id = ids->p + at, .key = ""};
        j->ops->change(j, &c, CH_SYNC_LATER, NULL, NULL);
    }
}

static void budgets_use_reading(struct ch_budgets *b, const struct budgets_reading *r) {
    for (size_t i = 0; i < b->n; i++)
        b->counters[i].other_cost = 0, b->counters[i].other_tokens = 0;
    for (size_t i = 0; i < r->n; i++) {
        struct budget_counter *c = budgets_need(b, r->list[i].id);
        c->other_cost += r->list[i].cost;
        c->other_tokens += r->list[i].tokens;
    }
    budgets_forget_old(b, &r->old);
}

static void budgets_done(struct ch_work *w) {
    struct budgets_reading *r = CH_CONTAINER(w, struct budgets_reading, work);
    struct ch_budgets *b = r->owner;
    if (!b) {
        budgets_drop_reading(w);
        return;
    }
    b->reading = NULL;
    r->owner = NULL;
    budgets_turn_day(b);
    if (r->rc < 0)
        ch_log(CH_LOG_WARN, "gateway", "the spending of other gateways cannot be read: %s",
               r->err.message);
    else if (r->day == b->day)
        budgets_use_reading(b, r);
    if (!ch_list_empty(&b->waits))
        budgets_read(b);
    for (struct ch_budget_wait *k; (k = CH_LIST_FIRST(&r->waits, struct ch_budget_wait, link));) {
        ch_list_del(&k->link);
        k->known(k);
    }
    budgets_drop_reading(w);
}

/* Waits that come during a reading need the next one. */
static void budgets_read(struct ch_budgets *b) {
    if (b->reading || !b->gw->store || !b->plan || !b->plan->n)
        return;
    struct budgets_reading *r = ch_alloc(sizeof(*r));
    budgets_turn_day(b);
    r->work = (struct ch_work){
        .run = budgets_run, .done = budgets_done, .dropped = budgets_drop_reading};
    r->owner = b;
    r->store = b->gw->store;
    r->day = b->day;
    memcpy(r->process, b->process, sizeof(r->process));
    ch_list_init(&r->waits);
    for (struct ch_link *k; (k = b->waits.head.next) != &b->waits.head;) {
        ch_list_del(k);
        ch_list_add(&r->waits, k);
    }
    b->reading = r;
    b->read_at = ch_mono_ms(ch_loop_clock(b->gw->rt->loop));
    ch_work_submit(b->gw->rt->workers, &r->work);
}

void ch_budgets_when_known(chela_gateway *gw, struct ch_budget_wait *w) {
    struct ch_budgets *b = gw->budgets;
    if (!gw->store || !b->plan || !b->plan->n) {
        w->known(w);
        return;
    }
    ch_list_add(&b->waits, &w->link);
    budgets_read(b);
}

/* --- configuration */

static char *budget_copy(const char *text) {
    return text && *text ? ch_strdup(text) : NULL;
}

static int plan_add(struct ch_budget_plan *plan, const struct chela_budget *given,
                    struct chela_error *err) {
    struct chela_budget o;
    int rc = CH_OPTS_NEED(chela_budget, &o, given, err);
    if (rc < 0)
        return rc;
    if (!o.name || !*o.name)
        return ch_fail(err, CHELA_ECONFIG, "a budget needs a name");
    if (!(o.cost_usd >= 0) || o.tokens < 0 || (o.cost_usd == 0 && o.tokens == 0))
        return ch_fail(err, CHELA_ECONFIG, "budget '%s' needs a limit: a cost or tokens", o.name);
    for (size_t i = 0; i < plan->n; i++)
        if (strcmp(plan->list[i].name, o.name) == 0)
            return ch_fail(err, CHELA_ECONFIG, "there are two budgets '%s'", o.name);
    plan->list[plan->n++] = (struct budget){.name = ch_strdup(o.name),
                                            .agent = budget_copy(o.agent),
                                            .channel = budget_copy(o.channel),
                                            .sender = budget_copy(o.sender),
                                            .cost_usd = o.cost_usd,
                                            .tokens = o.tokens};
    return 0;
}

int ch_budgets_plan(const struct chela_gateway_opts *o, struct ch_budget_plan **out,
                    struct chela_error *err) {
    size_t n = 0;
    while (o->budgets && o->budgets[n])
        n++;
    if (n > CH_LIMIT_BUDGETS)
        return ch_fail(err, CHELA_ECONFIG, "there are more than %d budgets", CH_LIMIT_BUDGETS);
    struct ch_budget_plan *plan = ch_alloc(sizeof(*plan));
    int rc = 0;
    plan->list = ch_alloc((n + 1) * sizeof(*plan->list));
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = plan_add(plan, o->budgets[i], err);
    if (rc < 0)
        ch_budgets_drop_plan(plan);
    else
        *out = plan;
    return rc;
}

void ch_budgets_drop_plan(struct ch_budget_plan *plan) {
    for (size_t i = 0; plan && i < plan->n; i++) {
        ch_free(plan->list[i].name);
        ch_free(plan->list[i].agent);
        ch_free(plan->list[i].channel);
        ch_free(plan->list[i].sender);
    }
    if (plan)
        ch_free(plan->list);
    ch_free(plan);
}

void ch_budgets_apply(struct ch_budgets *b, struct ch_budget_plan *plan) {
    ch_budgets_drop_plan(b->plan);
    b->plan = plan;
}

struct ch_budgets *ch_budgets_new(chela_gateway *gw) {
    struct ch_budgets *b = ch_alloc(sizeof(*b));
    b->gw = gw;
    ch_random_id("", b->process);
    ch_list_init(&b->waits);
    return b;
}

void ch_budgets_free(struct ch_budgets *b) {
    if (!b)
        return;
    if (b->reading) {
        while (!ch_list_empty(&b->reading->waits))
            ch_list_del(b->reading->waits.head.next);
        b->reading->owner = NULL;
    }
    while (!ch_list_empty(&b->waits))
        ch_list_del(b->waits.head.next);
    ch_budgets_drop_plan(b->plan);
    ch_free(b->counters);
    ch_free(b);
}
