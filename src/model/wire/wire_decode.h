/* wire_decode.h -- decodes a recorded response to a neutral reply, as JSON; for `chela wire` and
 * for tests. */
#ifndef CH_MODEL_WIRE_DECODE_H
#define CH_MODEL_WIRE_DECODE_H
#include "model/codec/codec.h"

/* Append one object:
 *   {"text","reasoning","refusal","tool_calls":[{"id","name","arguments"}],
 *    "stop","stop_raw","usage":{"input","output","cache_read","cache_write",
 *    "reasoning",["cache_write_1h"]},"model","complete","error":{"class","message","retryable"}}
 * where error may be null; cache_write_1h is the part of cache_write that the vendor reports
 * as written to a one-hour cache, if any; arguments that are no object are {"_invalid":text};
 * a call has "cut" or "repaired":true where it applies. A status of 0 means
 * 200. Returns CHELA_EPROTO, the object written all the same, if the body is
 * not of this protocol. */
int ch_wire_decode(const struct ch_codec *codec, int status, struct ch_sv content_type,
                   struct ch_sv body, struct ch_buf *out, struct chela_error *err);

/* The same for a decoder that has ended. */
void ch_wire_write_reply(const struct ch_decoder *d, struct ch_buf *out);

#endif
