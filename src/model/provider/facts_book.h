/* facts_book.h -- the facts about a model that count in a runtime: the built-in ones, over these
 * the user's file ($XDG_CONFIG_HOME/chela/models.json), over that the models of a provider in the
 * configuration. The file is read once, when the first model is needed; its faults are warnings. */
#ifndef CH_FACTS_BOOK_H
#define CH_FACTS_BOOK_H
#include "model/catalog/facts_file.h"
#include "model/provider/providers.h"

/* The path of the user's file, to be freed; NULL: there is no home. */
char *ch_facts_book_path(const struct ch_providers *ps);
/* The rows of the user's file, empty if there is none. */
const struct ch_facts_file *ch_facts_book_file(struct ch_providers *ps);
/* Facts of the configuration, as a JSON object of columns; later ones win. CHELA_ECONFIG: err names
 * the column. */
int ch_facts_book_add(struct ch_providers *ps, const char *provider, const char *model,
                      const char *json, struct chela_error *err);

/* The built-in facts, with the price of today. False: no price is known. */
bool ch_facts_book_built_in(const struct ch_providers *ps, const char *provider,
                            struct ch_sv model, struct ch_model_facts *out);
/* The facts of a provider's model, asked for under another name perhaps. False: no price is
 * known. */
bool ch_facts_book_get(struct ch_providers *ps, const char *provider, struct ch_sv model,
                       struct ch_sv asked, struct ch_model_facts *out);
/* Complain about the user's file: what cannot be read of it, and patterns that fit no model. */
void ch_facts_book_faults(struct ch_providers *ps, ch_facts_complain *complain, void *user);
/* Where the facts are from: "config", "file" or "table"; NULL: nothing is known. *as_of: the day
 * of the file or of the table; NULL: not known. */
const char *ch_facts_book_source(struct ch_providers *ps, const char *provider,
                                 struct ch_sv model, const char **as_of);
void ch_facts_book_free(struct ch_facts_book *b);

#endif
