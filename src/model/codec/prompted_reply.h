/* prompted_reply.h -- replies whose text is read for calls and thoughts; see
 * prompted.h. */
#ifndef CH_MODEL_PROMPTED_REPLY_H
#define CH_MODEL_PROMPTED_REPLY_H
#include "model/codec/prompted.h"

struct ch_tag_reader *ch_tag_reader_new(enum ch_tags_mode mode, ch_model_event_fn *fn, void *user);
void ch_tag_reader_free(struct ch_tag_reader *r);
void ch_tag_reader_event(const struct ch_model_event *ev, void *reader); /* a ch_model_event_fn */
void ch_tag_reader_end(struct ch_tag_reader *r); /* what was held back comes out */

/* Replace *m by a message whose text blocks are read likewise. None of their
 * calls is to be run if the reply failed. CHELA_ELIMIT: more blocks or calls
 * than a reply may have. */
int ch_tags_rewrite(enum ch_tags_mode mode, bool failed, struct ch_msg **m);

#endif
