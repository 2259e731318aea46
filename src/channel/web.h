/* web.h -- HTTP requests for channels, with a bounded response. */
#ifndef CH_CHANNEL_WEB_H
#define CH_CHANNEL_WEB_H
#include "agent/handle/agent.h"
#include "base/list.h"
#include "net/transport.h"
#include "json/json.h"

struct ch_web { /* embedded */
    chela_runtime *rt;
    struct ch_list calls;
};

struct ch_web_answer {
    int status;                 /* HTTP status; 0: no response */
    const char *why;            /* transport error or response too large; NULL: none */
    const struct ch_json *json; /* NULL: none, or unparsable */
    struct ch_sv text;          /* raw response; truncated if too large */
    const struct ch_header *headers; /* names in lower case */
    size_t nheaders;
};
typedef void ch_web_fn(const struct ch_web_answer *a, void *user);

void ch_web_init(struct ch_web *w, chela_runtime *rt);
void ch_web_close(struct ch_web *w); /* no callback after this */
struct ch_web_request {
    const char *method, *url; /* copied */
    const char *type;         /* Content-Type of the body; copied */
    const char *const *headers; /* further ones: name, value, ..., NULL; copied; may be NULL */
    struct ch_buf *body;      /* moved; NULL: none */
    size_t most;              /* maximum bytes of a file response; 0: the response is JSON */
    int64_t wait_ms;          /* total timeout */
    bool once;                /* sent at most once (transport.h) */
};
/* fn, which may be NULL, is called once, later. */
void ch_web_start(struct ch_web *w, const struct ch_web_request *r, ch_web_fn *fn, void *user);
/* POST JSON. url and body are copied. wait_ms: total timeout. fn, which may be NULL, is
 * called once, later. */
void ch_web_post(struct ch_web *w, const char *url, const char *body, int64_t wait_ms,
                 ch_web_fn *fn, void *user);

#endif
