/* health_state.c -- see health_state.h. */
#include "gateway/lane/health_state.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/redact.h"

struct ch_health_state {
    struct chela_error store;
    struct ch_buf model, config; /* the last error; empty: none */
};

struct ch_health_state *ch_health_state_new(void) {
    return ch_alloc(sizeof(struct ch_health_state));
}

void ch_health_state_free(struct ch_health_state *h) {
    if (!h)
        return;
    ch_buf_release(&h->model);
    ch_buf_release(&h->config);
    ch_free(h);
}

void ch_health_state_observe(struct ch_health_state *h, const struct chela_event *ev) {
    if (ev->type == CHELA_EV_TURN_END)
        ch_buf_clear(&h->model);
    if (ev->type == CHELA_EV_RETRY) {
        ch_buf_clear(&h->model);
        ch_buf_add(&h->model, ev->retry.reason.p, ev->retry.reason.n);
    }
    if (ev->type == CHELA_EV_RUN_END && ev->end.reason == CHELA_REASON_MODEL_ERROR) {
        ch_buf_clear(&h->model);
        ch_buf_add(&h->model, ev->end.error.p, ev->end.error.n);
    }
}

void ch_health_state_set_store(struct ch_health_state *h, const struct chela_error *err) {
    h->store = *err;
}

void ch_health_state_set_config(struct ch_health_state *h, const char *why) {
    ch_buf_clear(&h->config);
    ch_redact_copy(&h->config, ch_sv_str(why ? why : ""));
}

const char *ch_health_state_store_error(const struct ch_health_state *h) {
    return h->store.code ? h->store.message : NULL;
}

const char *ch_health_state_model_error(const struct ch_health_state *h) {
    return h->model.n ? ch_buf_str(&h->model) : NULL;
}

const char *ch_health_state_config_error(const struct ch_health_state *h) {
    return h->config.n ? ch_buf_str(&h->config) : NULL;
}
