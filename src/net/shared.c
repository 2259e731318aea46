/* shared.c -- see shared.h. */
#include "net/shared.h"

#include "base/mem.h"
#include "io/module.h"

struct ch_shared *ch_shared_new(struct ch_loop *loop, const char *ca_file,
                                const char *module_path) {
    struct ch_shared *s = ch_alloc(sizeof(*s));
    s->refs = 1;
    s->loop = loop;
    s->resolver = ch_resolver_new(loop);
    s->in = ch_malloc(CH_READ_SIZE);
    s->ca_file = ca_file ? ch_strdup(ca_file) : NULL;
    s->module_path = module_path ? ch_strdup(module_path) : NULL;
    return s;
}

struct ch_shared *ch_shared_ref(struct ch_shared *s) {
    s->refs++;
    return s;
}

void ch_shared_unref(struct ch_shared *s) {
    if (!s || --s->refs > 0)
        return;
    if (s->tls_context)
        s->tls->context_free(s->tls_context);
    ch_resolver_free(s->resolver);
    ch_free(s->in);
    ch_free(s->plain);
    ch_free(s->cipher);
    ch_free(s->ca_file);
    ch_free(s->module_path);
    ch_free(s);
}

int ch_shared_need_tls(struct ch_shared *s, struct chela_error *err) {
    const void *ops;
    int rc;

    if (s->tls_context)
        return CHELA_OK;
    rc = ch_module_load("tls", "tls", s->module_path, &ops, err);
    if (rc < 0)
        return rc;
    s->tls = ops;
    rc = s->tls->context_new(s->ca_file, &s->tls_context, err);
    if (rc < 0)
        return rc;
    s->plain = ch_malloc(CH_PLAIN_SIZE);
    s->cipher = ch_malloc(CH_CIPHER_SIZE);
    return CHELA_OK;
}
