/* id.h -- ids of a service inside keys and addresses, which ':', ' ' and '/' divide.
 *
 * An id may hold any character. Characters that divide are written as ~ and two hexadecimal
 * digits; most ids stay as they are. Pure. */
#ifndef CH_CHANNEL_ID_H
#define CH_CHANNEL_ID_H
#include "base/buf.h"

/* Append the encoded id. */
void ch_id_add(struct ch_buf *out, struct ch_sv id);
/* Append the id that was encoded. A ~ that is not an encoding stays as it is. */
void ch_id_read(struct ch_buf *out, struct ch_sv encoded);

#endif
