/* said.h -- whether an address was named in a run before the model named it.
 *
 * A request for an address that stands word for word in what a person said, or in the results of a
 * search, carries nothing that the model composed. The same holds for an address in a page, if the
 * address of that page holds. A page at an address that the model composed might repeat it. */
#ifndef CH_RUN_SAID_H
#define CH_RUN_SAID_H
#include "agent/handle/run.h"
#include "base/sv.h"

/* url: parsed and normalised, as ch_url_join does. The messages of the person are those of the
 * conversation that the run belongs to, not what one agent tells another. */
bool ch_said(const chela_run *run, struct ch_sv url);

/* True if the text contains the address as a whole, with its scheme or without. */
bool ch_said_in(struct ch_sv text, struct ch_sv url);

#endif
