/* budgets.h -- what the runs of a gateway may spend in a day.
 *
 * Each budget (struct chela_budget) that a run meets has a counter of cost and tokens. The use of
 * a counter is stored as a note of this process (store/budget_use.h), in the transaction of the
 * records that contain the same use, so that a crash loses both or neither. Gateways on the same
 * store read each other's notes: before a message is admitted, and once a second while runs
 * spend.
 *
 * A message is refused if a budget that it meets is used up. A run that was admitted gets the rest
 * of the budget as its limit, so that it ends before the model call that follows the last one
 * within the budget. Calls in progress are not stopped: the use may exceed a budget by these.
 *
 * Without a store, use is counted in memory. Loop thread only. */
#ifndef CH_GATEWAY_BUDGETS_H
#define CH_GATEWAY_BUDGETS_H
#include "gateway/request/gateway_state.h"

#define CH_BUDGET_CHANNEL "http" /* channel of runs that no chat began */

struct ch_budget_plan;
struct ch_lane;

/* Who spends; sender and channel may be NULL. */
struct ch_spender {
    const char *agent, *channel, *sender;
};

/* What a lane's run has spent. */
struct ch_lane_spending {
    struct ch_spending is; /* spending of the lane's session */
    char run[24];          /* the run whose use is counted */
    int64_t tokens;        /* tokens of the run that are counted so far */
    double cost;
};

/* Waits until the use by other processes is known; embedded in the struct of its owner. */
struct ch_budget_wait {
    struct ch_link link;
    void (*known)(struct ch_budget_wait *w);
};

struct ch_budgets *ch_budgets_new(chela_gateway *gw);
void ch_budgets_free(struct ch_budgets *b);

/* Reads the budgets of the options. CHELA_ECONFIG: a budget is wrong. */
int ch_budgets_plan(const struct chela_gateway_opts *o, struct ch_budget_plan **out,
                    struct chela_error *err);
void ch_budgets_drop_plan(struct ch_budget_plan *plan);
/* Applies a new list of budgets; takes plan. Counters with the same name keep their values. */
void ch_budgets_apply(struct ch_budgets *b, struct ch_budget_plan *plan);

/* Reads the spending of other processes, then calls w->known; calls it at once without
 * budgets or without a store. ch_list_del(&w->link) cancels. */
void ch_budgets_when_known(chela_gateway *gw, struct ch_budget_wait *w);
/* CHELA_EBUDGET: a budget is used up. The message says which, and when it resets;
 * err->retry_after_ms is the time until then. The refusal is counted and reported. */
int ch_budgets_admit(chela_gateway *gw, const struct ch_spender *who, struct chela_error *err);

/* The limits of a budget as configured now. False: there is no such budget. */
bool ch_budgets_limits(const chela_gateway *gw, struct ch_sv name, double *cost_usd,
                       int64_t *tokens);

/* Limits the runs of the lane's session. */
void ch_budgets_attach(struct ch_lane *l);
/* Counts the spending of the lane's run since the last call. */
void ch_budgets_count(struct ch_lane *l);

#endif
