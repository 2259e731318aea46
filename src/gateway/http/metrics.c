/* metrics.c -- GET /metrics, in the text format of Prometheus.
 *
 * Counters and gauges without names, keys or texts of users as labels. Workers publish their
 * values on the board, so that each of them answers for all, with the label `worker`. */
#include "gateway/http/metrics.h"

#include "chela/mailbox.h"
#include "gateway/lane/health_state.h"
#include "gateway/request/gateway_state.h"
#include "gateway/request/request.h"
#include "json/number.h"

/* X(name, type, help, value); gw and c are the gateway and its counters */
#define METRICS(X)                                                                                 \
    X(refused_total, "counter", "Requests refused before their body was read.", c->refused)        \
    X(connections, "gauge", "Open connections.", ch_server_clients(gw->server))                    \
    X(requests_in_progress, "gauge", "Requests being answered.", gw->nrequests)                    \
    X(store_up, "gauge", "1, or 0 if the last probe of the store by /readyz failed.",              \
      !ch_health_state_store_error(gw->health_state))                                              \
    X(model_up, "gauge", "1, or 0 if the last model call failed.",                                 \
      !ch_health_state_model_error(gw->health_state))                                              \
    X(outbox_waiting, "gauge", "Messages to chat services that were not sent yet.",                \
      chela_outbox_waiting(gw->rt))                                                                \
    X(sessions_live, "gauge", "Sessions in memory.", gw->nlanes)                                   \
    X(runs_in_progress, "gauge", "Runs in progress.", gw->rt->running)                             \
    X(runs_total, "counter", "Runs that ended or paused.", c->runs)                                \
    X(runs_failed_total, "counter", "Runs that ended in an error.", c->runs_failed)                \
    X(turns_total, "counter", "Model calls.", c->turns)                                            \
    X(tool_calls_total, "counter", "Tool calls that ended.", c->tool_calls)                        \
    X(tool_errors_total, "counter", "Tool calls that failed.", c->tool_errors)                     \
    X(input_tokens_total, "counter", "Tokens sent to models.", c->input_tokens)                    \
    X(output_tokens_total, "counter", "Tokens that models produced.", c->output_tokens)            \
    X(budget_refusals_total, "counter",                                                            \
      "Messages that were refused because a budget is used up.", c->budget_refusals)               \
    X(cost_usd_total, "counter", "Cost of model calls, where prices are known.", c->cost_usd)

static const struct metric {
    const char *name, *type, *help;
    int status; /* first digit; 0: without this label */
} metrics[] = {
    {"uptime_seconds", "gauge", "Seconds since the start.", 0},
#define REQUESTS "requests_total", "counter", "Requests answered, by class of status."
    {REQUESTS, 2},
    {REQUESTS, 3},
    {REQUESTS, 4},
    {REQUESTS, 5},
#define METRIC(name, type, help, value) {#name, type, help, 0},
    METRICS(METRIC)
#undef METRIC
};

/* The part of a worker. */
struct board {
    _Atomic uint64_t taken;
    _Atomic double values[CH_LEN(metrics)]; /* the first is 0: the worker does not run yet */
};
_Static_assert(sizeof(struct board) <= CHELA_WORKER_BOARD, "the values of a worker fit its board");

static struct board *board_of(const chela_gateway *gw, size_t worker) {
    return (void *)(gw->board + (worker - 1) * CHELA_WORKER_BOARD);
}

_Atomic uint64_t *ch_metrics_taken(const chela_gateway *gw) {
    return &board_of(gw, gw->worker)->taken;
}

static void metrics_read(const chela_gateway *gw, double *values) {
    const struct ch_counters *c = &gw->counters;
    *values++ = (double)(ch_mono_ms(ch_loop_clock(gw->rt->loop)) - gw->started) / 1000;
    for (int i = 2; i < 6; i++)
        *values++ = (double)c->requests[i];
#define METRIC(name, type, help, value) *values++ = (double)(value);
    METRICS(METRIC)
#undef METRIC
}

void ch_metrics_publish(chela_gateway *gw) {
    double values[CH_LEN(metrics)];
    struct board *b = board_of(gw, gw->worker);
    metrics_read(gw, values);
    values[0] = CH_MAX(values[0], 0.001);
    for (size_t i = 0; i < CH_LEN(metrics); i++)
        atomic_store_explicit(&b->values[i], values[i], memory_order_relaxed);
}

/* worker 0: there are no workers. */
static void metrics_add(struct ch_buf *out, const struct metric *m, size_t worker, double value) {
    ch_buf_addf(out, "chela_%s", m->name);
    if (worker && m->status)
        ch_buf_addf(out, "{worker=\"%zu\",status=\"%dxx\"}", worker, m->status);
    else if (worker)
        ch_buf_addf(out, "{worker=\"%zu\"}", worker);
    else if (m->status)
        ch_buf_addf(out, "{status=\"%dxx\"}", m->status);
    char text[CH_NUMBER_MAX];
    ch_buf_addf(out, " %.*s\n", (int)ch_number_format(text, value), text);
}

static void metrics_add_workers(struct ch_buf *out, const chela_gateway *gw, size_t i) {
    for (size_t worker = 1; worker <= gw->workers; worker++) {
        struct board *b = board_of(gw, worker);
        if (atomic_load_explicit(&b->values[0], memory_order_relaxed) > 0)
            metrics_add(out, &metrics[i], worker,
                        atomic_load_explicit(&b->values[i], memory_order_relaxed));
    }
}

void ch_metrics_get(struct ch_request *req) {
    chela_gateway *gw = req->gw;
    double values[CH_LEN(metrics)];
    CH_BUF_AUTO out = {0};
    metrics_read(gw, values);
    if (gw->board)
        ch_metrics_publish(gw);
    for (size_t i = 0; i < CH_LEN(metrics); i++) {
        const struct metric *m = &metrics[i];
        if (i == 0 || strcmp(m->name, metrics[i - 1].name) != 0)
            ch_buf_addf(&out, "# HELP chela_%s %s\n# TYPE chela_%s %s\n", m->name, m->help,
                        m->name, m->type);
        if (gw->board)
            metrics_add_workers(&out, gw, i);
        else
            metrics_add(&out, m, 0, values[i]);
    }
    ch_request_respond(req, 200, "text/plain; version=0.0.4; charset=utf-8", ch_buf_sv(&out));
}
