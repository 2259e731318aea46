/* web.h -- requests to a web service, for channels: one answer, at most so large. */
#ifndef CH_CHANNEL_WEB_H
#define CH_CHANNEL_WEB_H
#include "agent/handle/agent.h"
#include "base/list.h"
#include "json/json.h"

struct ch_web { /* embedded */
    chela_runtime *rt;
    struct ch_list calls;
};

struct ch_web_answer {
    int status;                 /* of HTTP; 0: none came */
    const char *why;            /* none came, or too much: what failed; NULL */
    const struct ch_json *json; /* NULL: there is none, or it cannot be read */
    struct ch_sv text;          /* as it came; of one that is too large its beginning */
};
typedef void ch_web_fn(const struct ch_web_answer *a, void *user);

void ch_web_init(struct ch_web *w, chela_runtime *rt);
void ch_web_close(struct ch_web *w); /* no callback after this */
struct ch_web_request {
    const char *method, *url; /* copied */
    const char *type;         /* of the body; copied */
    struct ch_buf *body;      /* taken; NULL: none */
    size_t most;              /* bytes of a file that is the answer; 0: it is JSON */
    int64_t wait_ms;          /* for all of it */
};
/* fn, which may be NULL, is called once, later. */
void ch_web_start(struct ch_web *w, const struct ch_web_request *r, ch_web_fn *fn, void *user);
/* POST of JSON. url and body are copied. wait_ms: for all of it. fn, which may be NULL, is
 * called once, later. */
void ch_web_post(struct ch_web *w, const char *url, const char *body, int64_t wait_ms,
                 ch_web_fn *fn, void *user);

#endif
