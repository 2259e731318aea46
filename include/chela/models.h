/* models.h -- known models and their capabilities.
 *
 * Unless a function says otherwise:
 *   Ownership: arguments are borrowed for the call.
 *   Threads: loop
 *   Callbacks: no: CHELA_EBUSY
 *   Errors: none */
#ifndef CHELA_MODELS_H
#define CHELA_MODELS_H
#include "chela/session.h"
CHELA_BEGIN_DECLS

/* The known models:
 *   {"providers":[{"name","api","base_url","key_env","key","local"}],
 *    "models":[{"provider","model","resolved","context_window","max_output","images","price",
 *               "source"}]}
 * key: whether a key is available. images: whether the model accepts images. price:
 * {"input","output"} in US dollars per million tokens. source: "table" or "server". Unknown
 * values are null. provider NULL: all models of the built-in table, without waiting.
 * Otherwise the server of this provider is asked for its models.
 * Ownership: the caller frees the result with chela_free.
 * Callbacks: yes without a provider; with one CHELA_EBUSY
 * Errors: CHELA_ENOENT: there is no such provider. With a provider: CHELA_ESTATE: the loop
 * belongs to a host. CHELA_EBUSY: called from a callback. CHELA_EAUTH, CHELA_ECONFIG: the
 * key or the configuration is wrong. CHELA_EINVAL: the provider has no list of models.
 * CHELA_ENET, CHELA_ETLS, CHELA_ETIMEOUT, CHELA_EPROTO, CHELA_EPARSE, CHELA_ELIMIT: the
 * server cannot be asked. */
CHELA_API char *chela_models_json(chela_runtime *rt, const char *provider,
                                  struct chela_error *err);

/* Send a small request with two tools to a model, and report what works:
 *   {"model","resolved","api","base_url","reachable","context_window","context_source",
 *    "stream","tools","parallel","first_ms","total_ms","usage":{"input","output"},"error",
 *    "tools_error"}
 * context_source is "server", "config", "table" or null. If the request fails, it is sent
 * again without tools. Failures of the model are in the report. opts may be NULL.
 * Ownership: the caller frees the result with chela_free.
 * Errors: CHELA_ESTATE: the loop belongs to a host. CHELA_EBUSY: called from a callback.
 * CHELA_EINVAL, CHELA_ECONFIG, CHELA_EAUTH, CHELA_ENOENT, CHELA_EPERM, CHELA_ELIMIT: the
 * agent cannot be created (chela_agent_new). */
CHELA_API char *chela_model_probe(chela_runtime *rt, const struct chela_agent_opts *opts,
                                  struct chela_error *err);

CHELA_END_DECLS
#endif
