/* facts_import.h -- facts about models from the lists of others: a service's own list of models,
 * models.dev (api.json) and LiteLLM (model_prices_and_context_window.json). */
#ifndef CH_FACTS_IMPORT_H
#define CH_FACTS_IMPORT_H
#include "model/catalog/facts_file.h"

/* Read a list. Each model of a known provider becomes a row of `out` with what the list says;
 * values that make no sense are complained about and left out. provider: whose list it is, for a
 * service's own; NULL: the names tell. CHELA_EPARSE: no such list, or nothing in it can be used;
 * CHELA_ELIMIT: too many models. */
int ch_facts_import(struct ch_facts_file *out, struct ch_sv text, const char *provider,
                    ch_facts_complain *complain, void *user, struct chela_error *err);

/* Keep, of what a row says, the columns that differ from these facts. */
void ch_facts_import_reduce(struct ch_facts_row *row, const struct ch_model_facts *known);

#endif
