/* admission.h -- a request that asks something of a session.
 *
 * The request becomes an event of the inbox (lane/client_input.h), and is answered when the
 * store has the event and the session took it up or cannot do so now. An event that controls
 * the run of a session that another gateway has is answered when that gateway took it up. A
 * crash after the answer loses nothing; if the client leaves, the event is delivered all the
 * same. */
#ifndef CH_GATEWAY_ADMISSION_H
#define CH_GATEWAY_ADMISSION_H
#include "gateway/lane/client_input.h"
#include "gateway/request/request.h"

/* Answers the request. l NULL: the event waits, or another gateway has the session. Of d, only
 * id, key, kind, run and how are set then. */
typedef void ch_admitted_fn(struct ch_request *req, struct ch_lane *l,
                            const struct ch_delivery *d);

/* data: members of the event. Until the request is answered or admitted is called,
 * req->on_disconnect is replaced. The caller's on_disconnect is called if the client leaves
 * or the request is refused, and is restored before admitted is called. */
void ch_admission_begin(struct ch_request *req, const struct ch_delivery_kind *kind,
                        const char *key, const char *agent, const struct ch_buf *data,
                        ch_admitted_fn *admitted);

/* For a client that waits for the answer of a run. True: the gateway drains, so this process would
 * not take the event up; fills err. Nothing is stored, and the client may repeat the request. */
bool ch_admission_stops(const struct ch_request *req, const struct ch_delivery_kind *kind,
                        const char *key, struct chela_error *err);
/* The same for an event that is stored, and that waits: why the request gets no answer. */
void ch_admission_waits(struct ch_request *req, const struct ch_delivery *d,
                        struct chela_error *err);
/* Sets req->unknown at a stage after CH_DELIVERY_ACCEPTED. */
void ch_admission_note(struct ch_request *req, enum ch_delivery_stage stage,
                       const struct chela_error *err);

#endif
