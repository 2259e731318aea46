/* models.h -- which models there are, and what they can do. Blocking: not with a
 * host's loop (CHELA_ESTATE). */
#ifndef CHELA_MODELS_H
#define CHELA_MODELS_H
#include "chela/session.h"
CHELA_BEGIN_DECLS

/* {"providers":[{"name","api","base_url","key_env","key","local"}],
 *  "models":[{"provider","model","resolved","context_window","max_output",
 *             "images","price","source"}]}
 * where key says whether a key is at hand, source is "table" or "server", images
 * whether the model takes them, price is
 * {"input","output"} in US dollars for a million tokens, and what is not known
 * is null. With a provider only that one, and its server is asked what it has;
 * CHELA_EAUTH, CHELA_ENET ... if that fails. The text is yours to chela_free. */
CHELA_API char *chela_models_json(chela_runtime *rt, const char *provider,
                                  struct chela_error *err);

/* Ask a model one small thing, with two tools to call, and say what worked:
 *   {"model","resolved","api","base_url","reachable","context_window",
 *    "context_source","stream","tools","parallel","first_ms","total_ms",
 *    "usage":{"input","output"},"error","tools_error"}
 * context_source is "server", "config", "table" or null. If the call fails with
 * tools, it is made once more without. NULL and err only if there is nobody to
 * ask; the text is yours to chela_free. opts may be NULL. */
CHELA_API char *chela_model_probe(chela_runtime *rt, const struct chela_agent_opts *opts,
                                  struct chela_error *err);

CHELA_END_DECLS
#endif
