/* client_input.h -- requests of HTTP clients to a session, as kinds of deliveries
 * (delivery.h).
 *
 * An event is stored before the client is answered, so each kind can be applied without the
 * client: by the next process, or by the gateway that holds the session. While the client
 * waits for the answer (d->on_stage, d->awaited), an event that does not fit the session's state
 * is refused with the reason. If no client waits, such an event stays queued where possible. */
#ifndef CH_GATEWAY_CLIENT_INPUT_H
#define CH_GATEWAY_CLIENT_INPUT_H
#include "gateway/lane/delivery.h"
#include "gateway/request/request.h"
#include "json/writer.h"

extern const struct ch_delivery_kind ch_client_message;   /* "message", "mode" */
/* "message": begins a separate run after the earlier runs and messages. The client waits for
 * the answer of this run. */
extern const struct ch_delivery_kind ch_client_turn;
extern const struct ch_delivery_kind ch_client_results;   /* "results", "texts" */
extern const struct ch_delivery_kind ch_client_answers;   /* "results", "approvals" of a page */
extern const struct ch_delivery_kind ch_client_decision;  /* "approval", "decision", "text" */
extern const struct ch_delivery_kind ch_client_cancel;    /* "of" */
#define CH_CLIENT_DROPPED "dropped" /* action of a cancellation: the event has lost its turn */
extern const struct ch_delivery_kind ch_client_take_over; /* "text" */
extern const struct ch_delivery_kind ch_client_resume;
extern const struct ch_delivery_kind ch_client_release; /* the session is about to be deleted */

/* Members of a message; mode: run, steer or follow_up, "": whatever fits. */
void ch_client_input_write(struct ch_jw *w, const struct ch_msg *m, struct ch_sv mode);
/* A member of `results`, inside its array. */
void ch_client_input_write_result(struct ch_jw *w, struct ch_sv id, struct ch_sv content,
                                  bool is_error);

/* Write the request of a posted history as an event. A stored session has its own history, so
 * only the messages after the last reply count: results for the calls that the session waits
 * for, or text. Returns the kind of the event; NULL: see err. */
const struct ch_delivery_kind *ch_client_input_of_history(const char *key,
                                                          struct ch_client_history *h,
                                                          struct ch_jw *w, struct chela_error *err);

/* `apply` of ch_client_turn, with the options d->lane_opts, if there are any. */
int ch_client_input_apply_turn(struct ch_delivery *d, struct ch_lane *l, struct chela_error *err);
/* Cancels the run of the session, for `apply` of a kind. A paused run ends, too: its calls that
 * wait for people or for a time get an error result with the reason. */
int ch_client_input_cancel(struct ch_delivery *d, struct ch_lane *l, const char *reason,
                           struct chela_error *err);

/* Stores the client's request as an event; on_stage is called as for ch_delivery_accept. agent:
 * agent of the session. event: the last part of the event's id; NULL: random. */
struct ch_delivery *ch_client_input_accept(chela_gateway *gw, const struct ch_delivery_kind *kind,
                                           const char *key, const char *agent,
                                           const struct ch_buf *data, const char *event,
                                           ch_delivery_fn *on_stage, void *user);
/* Appends the trace context of req, if it has one, to the members of an event. awaited: the
 * client waits for the answer of a session that another gateway holds. */
void ch_client_input_write_context(struct ch_buf *data, const struct ch_request *req,
                                   bool awaited);

/* True: the message that was applied begins the session's next run, after a pause or the run
 * in progress. */
bool ch_client_input_begins_later(const struct ch_delivery *d);

/* The lane whose run a repeated event (CH_DELIVERY_DUPLICATE) may have begun, so that the
 * repeated request can follow the run; NULL: this process has no such run. Resumes an
 * interrupted run. */
struct ch_lane *ch_client_input_find_run(const struct ch_delivery *d);

#endif
