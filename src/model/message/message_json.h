/* message_json.h -- reads and writes the neutral JSON form of a message. */
#ifndef CH_MODEL_MESSAGE_JSON_H
#define CH_MODEL_MESSAGE_JSON_H
#include "model/message/message.h"

void ch_msg_write(const struct ch_msg *m, struct ch_jw *w);

/* content may also be a plain string. */
int ch_msg_read(const struct ch_json *v, struct ch_msg **out, struct chela_error *err);

#endif
