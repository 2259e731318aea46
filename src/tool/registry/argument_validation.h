/* argument_validation.h -- validates the arguments of a call against the tool's schema.
 *
 * Valid arguments are unchanged and cost one quick check. Invalid arguments are corrected
 * once: synonyms that the tool declares are mapped ("cmd" for "command"), then common
 * mistakes of weak models are repaired where the schema permits only one reading
 * (schema/schema.h). Remaining violations are all listed in text that a model can act on. */
#ifndef CH_TOOL_ARGUMENT_VALIDATION_H
#define CH_TOOL_ARGUMENT_VALIDATION_H
#include "schema/schema.h"

struct ch_contract;

/* schema: the text of a JSON Schema. synonyms not NULL: a parameter that the schema does not name
 * is a violation, unless the schema itself says which others it permits; synonyms lists further
 * names, separated by spaces, and is borrowed: names that the tool itself reads, and "said=meant"
 * for a name that is replaced. CHELA_EINVAL: err describes the
 * schema error. */
int ch_contract_new(struct ch_sv schema, const char *synonyms, struct ch_contract **out,
                    struct chela_error *err);
void ch_contract_free(struct ch_contract *c);
CH_DEFINE_AUTO(ch_contract)

enum ch_fit {
    CH_FITS,
    CH_FITS_CORRECTED, /* *args and *text are replaced; words describes the corrections */
    CH_FITS_NOT        /* words lists the violations; *args may be replaced by the same
                          arguments under the names of the schema */
};

/* args: an object, with its text. New values are in the arena; text is appended to words. */
enum ch_fit ch_contract_check(struct ch_contract *c, struct ch_arena *arena,
                              const struct ch_json **args, struct ch_sv *text,
                              struct ch_buf *words);

/* Checks arguments of which some values are not known yet: a string for which open() is true stands
 * for any value. Nothing is corrected; words receives the violations that no value can mend. */
void ch_contract_check_open(struct ch_contract *c, const struct ch_json *args,
                            bool (*open)(struct ch_sv string), struct ch_buf *words);

/* True if the last check found a parameter that neither the schema names nor is a synonym. */
bool ch_contract_found_unknown(const struct ch_contract *c);

#endif
