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
 *               "ends","successor","facts","source","as_of"}],
 *    "facts":{"as_of","file","file_models","file_as_of","faults"}}
 * key: whether a key is available. images: whether the model accepts images. price:
 * {"input","output"} in US dollars per million tokens. ends: the last day. facts of a model: the
 * known columns of the user's file (docs/models.md). source: "table", "file" (the user's),
 * "config" or "server"; as_of: the day of the facts. Unknown values are null. facts: the day of
 * the table, the user's file and what is wrong with it. provider NULL: all models of the built-in
 * table and the user's file, without waiting, those of a service from the newest on, those that
 * have ended last.
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

/* Bring the user's file of facts about models up to date. from: a file, a URL, or the name of a
 * provider, whose own list is asked for; NULL: the lists of all providers with a key. Files and
 * URLs hold a service's list of models, the api.json of models.dev, or LiteLLM's prices. dry 1:
 * nothing is written. Rows that a person wrote, which have no "source", stay as they are. Result:
 *   {"file","models","written","sources":[],"changes":[{"match","column","before","after"}],
 *    "kept":[],"warnings":[]}
 * The facts count for runtimes that are created afterwards. After an error, the file is unchanged.
 * Ownership: the caller frees the result with chela_free.
 * Errors: CHELA_ESTATE: the loop belongs to a host. CHELA_EBUSY: called from a callback.
 * CHELA_ENOENT, CHELA_EIO: a file cannot be read or written. CHELA_EPARSE: the list or the user's
 * file cannot be read. CHELA_ELIMIT: too large. CHELA_ECONFIG: no source, no home. CHELA_EAUTH,
 * CHELA_EINVAL, CHELA_ENET, CHELA_ETLS, CHELA_ETIMEOUT, CHELA_EPROTO: the list cannot be
 * fetched. */
CHELA_API char *chela_models_update(chela_runtime *rt, const char *from, int dry,
                                    struct chela_error *err);

/* Send a small request with two tools to a model, and report what works:
 *   {"model","resolved","api","base_url","reachable","context_window","context_source",
 *    "stream","tools","parallel","first_ms","total_ms","usage":{"input","output"},"error",
 *    "tools_error"}
 * context_source is "server", "config", "file", "table" or null. "disagrees" lists
 * {"column","facts","server"}: what the server's list says against the facts. If the request
 * fails, it is sent again without tools. Failures of the model are in the report. opts may be NULL.
 * Ownership: the caller frees the result with chela_free.
 * Errors: CHELA_ESTATE: the loop belongs to a host. CHELA_EBUSY: called from a callback.
 * CHELA_EINVAL, CHELA_ECONFIG, CHELA_EAUTH, CHELA_ENOENT, CHELA_EPERM, CHELA_ELIMIT: the
 * agent cannot be created (chela_agent_new). */
CHELA_API char *chela_model_probe(chela_runtime *rt, const struct chela_agent_opts *opts,
                                  struct chela_error *err);

CHELA_END_DECLS
#endif
