/* metrics.c -- GET /metrics, in the text format of Prometheus.
 *
 * Counters and gauges without names, keys or texts of users as labels. */
#include "gateway/http/metrics.h"

#include "chela/mailbox.h"
#include "gateway/lane/health_state.h"
#include "gateway/request/gateway_state.h"
#include "gateway/request/request.h"

static void metrics_add(struct ch_buf *out, const char *name, const char *type, const char *help,
                        double value) {
    ch_buf_addf(out, "# HELP %s %s\n# TYPE %s %s\n%s %.15g\n", name, help, name, type, name,
                value);
}

static void add_requests(struct ch_buf *out, const struct ch_counters *c) {
    ch_buf_add_str(out, "# HELP chela_requests_total Requests answered, by class of status.\n"
                        "# TYPE chela_requests_total counter\n");
    for (int i = 2; i < 6; i++)
        ch_buf_addf(out, "chela_requests_total{status=\"%dxx\"} %llu\n", i,
                    (unsigned long long)c->requests[i]);
}

void ch_metrics_get(struct ch_request *req) {
    const chela_gateway *gw = req->gw;
    const struct ch_counters *c = &gw->counters;
    CH_BUF_AUTO out = {0};
    int64_t ms = ch_mono_ms(ch_loop_clock(gw->rt->loop)) - gw->started;
    metrics_add(&out, "chela_uptime_seconds", "gauge", "Seconds since the start.",
                (double)ms / 1000);
    add_requests(&out, c);
    metrics_add(&out, "chela_refused_total", "counter",
                "Requests refused before their body was read.", (double)c->refused);
    metrics_add(&out, "chela_connections", "gauge", "Open connections.",
                (double)ch_server_clients(gw->server));
    metrics_add(&out, "chela_requests_in_progress", "gauge", "Requests being answered.",
                (double)gw->nrequests);
    metrics_add(&out, "chela_store_up", "gauge",
                "1, or 0 if the last probe of the store by /readyz failed.",
                !ch_health_state_store_error(gw->health_state));
    metrics_add(&out, "chela_model_up", "gauge", "1, or 0 if the last model call failed.",
                !ch_health_state_model_error(gw->health_state));
    metrics_add(&out, "chela_outbox_waiting", "gauge",
                "Messages to chat services that were not sent yet.",
                (double)chela_outbox_waiting(gw->rt));
    metrics_add(&out, "chela_sessions_live", "gauge", "Sessions in memory.", (double)gw->nlanes);
    metrics_add(&out, "chela_runs_in_progress", "gauge", "Runs in progress.",
                (double)gw->rt->running);
    metrics_add(&out, "chela_runs_total", "counter", "Runs that ended or paused.", (double)c->runs);
    metrics_add(&out, "chela_runs_failed_total", "counter", "Runs that ended in an error.",
                (double)c->runs_failed);
    metrics_add(&out, "chela_turns_total", "counter", "Model calls.", (double)c->turns);
    metrics_add(&out, "chela_tool_calls_total", "counter", "Tool calls that ended.",
                (double)c->tool_calls);
    metrics_add(&out, "chela_tool_errors_total", "counter", "Tool calls that failed.",
                (double)c->tool_errors);
    metrics_add(&out, "chela_input_tokens_total", "counter", "Tokens sent to models.",
                (double)c->input_tokens);
    metrics_add(&out, "chela_output_tokens_total", "counter", "Tokens that models produced.",
                (double)c->output_tokens);
    metrics_add(&out, "chela_budget_refusals_total", "counter",
                "Messages that were refused because a budget is used up.",
                (double)c->budget_refusals);
    metrics_add(&out, "chela_cost_usd_total", "counter",
                "Cost of model calls, where prices are known.", c->cost_usd);
    ch_request_respond(req, 200, "text/plain; version=0.0.4; charset=utf-8", ch_buf_sv(&out));
}
