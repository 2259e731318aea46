/* chat_callback.c -- see chat_callback.h. A channel may answer before or after its `receive`
 * returns, and after the client has left. */
#include "gateway/chat/chat_callback.h"

#include "gateway/chat/chat_service.h"

struct ch_chat_callback {
    struct ch_link link;    /* in the service's callbacks */
    struct ch_request *req; /* NULL: not waited for yet, or the client has left */
    bool left;              /* the client has left */
    bool answered;          /* before the request waited */
    int status;
    char *type; /* owned; NULL: JSON */
    struct ch_buf body;
};

struct ch_chat_callback *ch_chat_callback_new(struct ch_chat_service *chat) {
    struct ch_chat_callback *k = ch_alloc(sizeof(*k));
    ch_list_add(&chat->callbacks, &k->link);
    return k;
}

void ch_chat_callback_drop(struct ch_chat_callback *k) {
    if (k->req)
        k->req->on_disconnect = NULL;
    ch_list_del(&k->link);
    ch_buf_release(&k->body);
    ch_free(k->type);
    ch_free(k);
}

static void callback_answer(struct ch_request *req, int status, const char *type,
                            struct ch_sv body) {
    ch_request_respond(req, status, type ? type : "application/json", body);
}

static void callback_on_disconnect(struct ch_request *req) {
    struct ch_chat_callback *k = req->user;
    k->req = NULL;
    k->left = true;
}

void ch_chat_callback_await(struct ch_chat_callback *k, struct ch_request *req) {
    if (k->answered) {
        callback_answer(req, k->status, k->type, ch_buf_sv(&k->body));
        ch_chat_callback_drop(k);
        return;
    }
    k->req = req;
    req->user = k;
    req->on_disconnect = callback_on_disconnect;
}

void ch_chat_callback_respond(void *callback, int status, const char *type, struct ch_sv body) {
    struct ch_chat_callback *k = callback;
    struct ch_request *req = CH_TAKE(k->req);
    if (k->left) {
        ch_chat_callback_drop(k);
        return;
    }
    if (!req) {
        k->answered = true;
        k->status = status;
        k->type = ch_strdup(type);
        ch_buf_add_sv(&k->body, body);
        return;
    }
    req->on_disconnect = NULL;
    callback_answer(req, status, type, body);
    ch_chat_callback_drop(k);
}

void ch_chat_callbacks_release(struct ch_chat_service *chat) {
    for (struct ch_chat_callback *k;
         (k = CH_LIST_FIRST(&chat->callbacks, struct ch_chat_callback, link));) {
        struct ch_request *req = CH_TAKE(k->req);
        if (req) {
            req->on_disconnect = NULL;
            ch_request_fail(req, 503, NULL, "the channel was closed");
        }
        ch_chat_callback_drop(k);
    }
}
