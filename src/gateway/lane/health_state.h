/* health_state.h -- the last known state of what the gateway depends on: the store, the
 * model and the configuration.
 *
 * Lanes report model calls here and http/health.c reports probes of the store. The texts
 * returned are borrowed until the next report. Loop thread only. */
#ifndef CH_GATEWAY_HEALTH_STATE_H
#define CH_GATEWAY_HEALTH_STATE_H
#include "chela/error.h"
#include "chela/event.h"

struct ch_health_state;

struct ch_health_state *ch_health_state_new(void);
void ch_health_state_free(struct ch_health_state *h);

/* Takes the result of a model call from an event of a run. */
void ch_health_state_observe(struct ch_health_state *h, const struct chela_event *ev);
/* The result of a probe of the store; code 0: the store works. */
void ch_health_state_set_store(struct ch_health_state *h, const struct chela_error *err);
/* Why a new configuration was refused; NULL or "": it was not. Secrets are removed. */
void ch_health_state_set_config(struct ch_health_state *h, const char *why);

/* The last error; NULL if healthy or not tried. */
const char *ch_health_state_store_error(const struct ch_health_state *h);
const char *ch_health_state_model_error(const struct ch_health_state *h);
const char *ch_health_state_config_error(const struct ch_health_state *h);

#endif
