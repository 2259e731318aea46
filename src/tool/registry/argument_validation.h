/* argument_validation.h -- a tool's schema, held against the arguments of a call.
 *
 * Arguments that fit are left alone and cost one quick check. Those that do
 * not are given one chance: names that models use for the same thing are
 * mapped ("path" for "file_path"), then the slips of weak models are corrected
 * where the schema leaves no doubt (schema/schema.h). What still does not fit is
 * explained, every violation, in words a model can act on. */
#ifndef CH_TOOL_ARGUMENT_VALIDATION_H
#define CH_TOOL_ARGUMENT_VALIDATION_H
#include "schema/schema.h"

struct ch_contract;

/* schema: the text of a JSON Schema. CHELA_EINVAL says what is wrong with it. */
int ch_contract_new(struct ch_sv schema, struct ch_contract **out, struct chela_error *err);
void ch_contract_free(struct ch_contract *c);
CH_DEFINE_AUTO(ch_contract)

enum ch_fit {
    CH_FITS,
    CH_FITS_CORRECTED, /* *args and *text are replaced; words say what changed */
    CH_FITS_NOT        /* words say why */
};

/* args: an object, with its text. New values are in the arena; what is written
 * into words is appended. */
enum ch_fit ch_contract_check(struct ch_contract *c, struct ch_arena *arena,
                              const struct ch_json **args, struct ch_sv *text,
                              struct ch_buf *words);

#endif
