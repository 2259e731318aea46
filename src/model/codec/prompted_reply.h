/* prompted_reply.h -- parses the text of replies for calls and reasoning; see prompted.h. */
#ifndef CH_MODEL_PROMPTED_REPLY_H
#define CH_MODEL_PROMPTED_REPLY_H
#include "model/codec/prompted.h"

struct ch_tag_reader *ch_tag_reader_new(enum ch_tags_mode mode, ch_model_event_fn *fn, void *user);
void ch_tag_reader_free(struct ch_tag_reader *r);
void ch_tag_reader_event(const struct ch_model_event *ev, void *reader); /* a ch_model_event_fn */
void ch_tag_reader_end(struct ch_tag_reader *r); /* flush the text held back */

/* Replace *m by a message whose text blocks are parsed. If the reply failed, its calls are
 * marked as not to be run. CHELA_ELIMIT: too many blocks or calls for a reply. */
int ch_tags_rewrite(enum ch_tags_mode mode, bool failed, struct ch_msg **m);

#endif
