/* rpc_message.h -- the codec of JSON-RPC 2.0: one message, read and written.
 *
 * Pure functions: no socket, clock or state. ch_rpc_read refuses a batch, which only one version
 * of the protocols has. An id is a string or an integer. Unknown members are ignored. Invalid
 * UTF-8 is replaced, so that one bad byte does not lose a message. Parameters or an error that
 * are null count as absent. */
#ifndef CH_RPC_MESSAGE_H
#define CH_RPC_MESSAGE_H
#include "json/json.h"
#include "json/writer.h"

/* Error codes of JSON-RPC. */
enum ch_rpc_code {
    CH_RPC_PARSE_ERROR = -32700,
    CH_RPC_INVALID_REQUEST = -32600,
    CH_RPC_NO_METHOD = -32601,
    CH_RPC_INVALID_PARAMS = -32602,
    CH_RPC_INTERNAL = -32603,
};

enum ch_rpc_kind { CH_RPC_REQUEST, CH_RPC_NOTIFICATION, CH_RPC_RESULT, CH_RPC_ERROR };

/* text NULL: no id. A number's text is decimal; a string's text is unescaped. */
struct ch_rpc_id {
    struct ch_sv text;
    bool is_string;
};

struct ch_rpc_message {
    enum ch_rpc_kind kind;
    struct ch_rpc_id id;
    struct ch_sv method;                          /* requests and notifications */
    const struct ch_json *params, *result, *data; /* NULL: absent */
    int64_t code;                                 /* errors */
    struct ch_sv text;                            /* errors: the message */
};

/* Read one message. Values are in the arena or in `text`. On failure *out holds the id if
 * there was a valid one, and the kind CH_RPC_ERROR if there was no method. CHELA_EPARSE: not
 * JSON. CHELA_EPROTO: JSON that is no message. CHELA_ELIMIT: nested too deeply, or an id or
 * method that is too long. */
int ch_rpc_read(struct ch_arena *a, struct ch_sv text, struct ch_rpc_message *out,
                struct chela_error *err);

/* The same, of a JSON value. */
int ch_rpc_read_json(const struct ch_json *root, struct ch_rpc_message *out,
                     struct chela_error *err);

bool ch_rpc_is_batch(struct ch_sv text);
/* Read a batch: an array of 1 to CH_LIMIT_RPC_BATCH values, which may be no messages. */
int ch_rpc_read_batch(struct ch_arena *a, struct ch_sv text, const struct ch_json **out,
                      struct chela_error *err);

/* The code for the answer to a message that ch_rpc_read refused with rc. */
enum ch_rpc_code ch_rpc_code_of(int rc);

bool ch_rpc_id_eq(struct ch_rpc_id a, struct ch_rpc_id b);
/* True if the id is this integer. */
bool ch_rpc_id_is(struct ch_rpc_id id, int64_t number);
void ch_rpc_write_id(struct ch_jw *w, struct ch_rpc_id id); /* null without an id */

/* Append one message, without a line end. JSON arguments are texts; an empty one is left out.
 * Line breaks between the values of a JSON argument become spaces. */
void ch_rpc_write_request(struct ch_buf *out, int64_t id, const char *method, struct ch_sv params);
void ch_rpc_write_notification(struct ch_buf *out, const char *method, struct ch_sv params);
void ch_rpc_write_result(struct ch_buf *out, struct ch_rpc_id id, struct ch_sv result);
void ch_rpc_write_error(struct ch_buf *out, struct ch_rpc_id id, int64_t code, struct ch_sv text,
                        struct ch_sv data);

#endif
