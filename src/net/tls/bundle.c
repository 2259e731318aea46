/* bundle.c -- see bundle.h.
 *
 * To parse a certificate costs OpenSSL a third of a millisecond, most of it for the key. A
 * bundle has a hundred and more, of which a chain needs one. The bundle is therefore only
 * split: each certificate is found by a sum over its subject, and parsed when a chain asks
 * for this subject. Nothing changes after loading, so that threads may share a bundle. */
#include "net/tls/bundle.h"

#include <openssl/asn1.h>
#include <openssl/err.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/base64.h"
#include "base/file.h"
#include "base/limits.h"

#define SPLIT_BYTES (8 * CH_MB) /* a larger file is left to OpenSSL's own loader */

struct entry {
    unsigned char *der; /* owned */
    long n;
    const unsigned char *subject; /* in der */
    long subject_n;
    uint64_t sum; /* of the subject; see sum_name */
};

struct bundle {
    struct entry *list; /* owned */
    size_t n, cap;
};

static void bundle_free(struct bundle *b) {
    for (size_t i = 0; i < b->n; i++)
        OPENSSL_free(b->list[i].der);
    OPENSSL_free(b->list);
    OPENSSL_free(b);
}

/* --- loading */

struct cursor {
    const unsigned char *at, *end;
};

/* Reads the head of the next value and moves behind the value. `inside`, if set, is its
 * content. Returns the tag; -1: malformed. */
static int take_value(struct cursor *c, struct cursor *inside) {
    const unsigned char *p = c->at;
    long n;
    int tag, class;
    int rc = ASN1_get_object(&p, &n, &tag, &class, (long)(c->end - c->at));
    if (rc & 0x81) /* an error, or a length that DER does not have */
        return -1;
    if (inside)
        *inside = (struct cursor){p, p + n};
    c->at = p + n;
    return tag;
}

/* Certificate: { { [0] version, serial, algorithm, issuer, validity, subject ... } ... } */
static int find_subject(struct entry *e) {
    struct cursor all = {e->der, e->der + e->n}, certificate, c;
    if (take_value(&all, &certificate) != V_ASN1_SEQUENCE || all.at != all.end ||
        take_value(&certificate, &c) != V_ASN1_SEQUENCE)
        return 0;
    int tag = take_value(&c, NULL);
    if (tag == 0) /* the version; otherwise this was the serial number */
        tag = take_value(&c, NULL);
    if (tag != V_ASN1_INTEGER || take_value(&c, NULL) != V_ASN1_SEQUENCE ||
        take_value(&c, NULL) != V_ASN1_SEQUENCE || take_value(&c, NULL) != V_ASN1_SEQUENCE)
        return 0;
    e->subject = c.at;
    if (take_value(&c, NULL) != V_ASN1_SEQUENCE)
        return 0;
    e->subject_n = (long)(c.at - e->subject);
    return 1;
}

/* Adds the letters and digits of a value to the sum. Names that OpenSSL regards as equal differ
 * in white space, in the case of ASCII letters and in the type of their strings only, so their
 * sums are equal. */
static uint64_t sum_bytes(uint64_t sum, const struct cursor *c) {
    for (const unsigned char *p = c->at; p < c->end; p++) {
        unsigned char lower = (unsigned char)(*p | 0x20);
        if ((lower >= 'a' && lower <= 'z') || (*p >= '0' && *p <= '9'))
            sum = (sum ^ lower) * 0x100000001b3; /* FNV-1a */
    }
    return sum;
}

/* Attribute: { type, value } */
static int sum_attribute(struct cursor *set, uint64_t *sum) {
    struct cursor c, type, value;
    if (take_value(set, &c) != V_ASN1_SEQUENCE || take_value(&c, &type) != V_ASN1_OBJECT)
        return 0;
    int tag = take_value(&c, &value);
    if (tag < 0 || tag == V_ASN1_BMPSTRING || tag == V_ASN1_UNIVERSALSTRING || c.at != c.end)
        return 0; /* wide characters; or malformed */
    *sum += sum_bytes(sum_bytes(0xcbf29ce484222325, &type), &value);
    return 1;
}

/* Name: a sequence of sets of attributes. A set may have any order, so that the sum is
 * commutative. */
static int sum_name(const unsigned char *der, long n, uint64_t *sum) {
    struct cursor all = {der, der + n}, name, set;
    *sum = 0;
    if (take_value(&all, &name) != V_ASN1_SEQUENCE)
        return 0;
    while (name.at < name.end) {
        if (take_value(&name, &set) != V_ASN1_SET)
            return 0;
        while (set.at < set.end)
            if (!sum_attribute(&set, sum))
                return 0;
    }
    return 1;
}

static int add_entry(struct bundle *b, const struct ch_buf *der) {
    if (b->n == b->cap) {
        size_t cap = b->cap ? 2 * b->cap : 64;
        struct entry *list = OPENSSL_realloc(b->list, cap * sizeof(*list));
        if (!list)
            return 0;
        b->list = list;
        b->cap = cap;
    }
    struct entry *e = &b->list[b->n++];
    *e = (struct entry){.der = OPENSSL_memdup(der->p, der->n), .n = (long)der->n};
    return e->der && find_subject(e) && sum_name(e->subject, e->subject_n, &e->sum);
}

static const char begin[] = "-----BEGIN ", head[] = "-----BEGIN CERTIFICATE-----\n",
                  foot[] = "\n-----END CERTIFICATE-----";

/* The next line that begins a block; NULL: none. */
static const char *next_block(const char *from, struct ch_sv text) {
    const char *at = from, *end = text.p + text.n;
    while ((at = memmem(at, (size_t)(end - at), begin, strlen(begin))) && at != text.p &&
           at[-1] != '\n')
        at++;
    return at;
}

/* Adds the certificate of a block, which ends at *at. 0: something that only OpenSSL's own
 * loader knows. */
static int add_block(struct bundle *b, const char **at, const char *end, struct ch_buf *der) {
    size_t left = (size_t)(end - *at), n = strlen(head);
    if (left < n || memcmp(*at, head, n) != 0)
        return 0;
    const char *body = *at + n, *stop = memmem(body, left - n, foot, strlen(foot));
    ch_buf_clear(der);
    if (!stop || !ch_base64_read(ch_sv(body, (size_t)(stop - body)), der))
        return 0;
    *at = stop + strlen(foot);
    return add_entry(b, der);
}

/* PEM_read_bio takes three times as long. */
static int split(struct bundle *b, struct ch_sv text) {
    CH_BUF_AUTO der = {0};
    for (const char *at = text.p; (at = next_block(at, text));)
        if (!add_block(b, &at, text.p + text.n, &der))
            return 0;
    return b->n > 0;
}

/* NULL: the file has no certificates, or something that only OpenSSL's own loader knows. */
static struct bundle *bundle_read(const char *path) {
    struct bundle *b = OPENSSL_zalloc(sizeof(*b));
    struct chela_error ignored = {0}; /* OpenSSL's own loader reports it */
    CH_BUF_AUTO text = {0};
    if (b && ch_file_load(path, SPLIT_BYTES, &text, &ignored) == 0 &&
        split(b, ch_buf_sv(&text)))
        return b;
    if (b)
        bundle_free(b);
    return NULL;
}

/* --- looking up */

static void parse_entry(const struct entry *e, const X509_NAME *name, X509_STORE *store) {
    const unsigned char *subject = e->subject, *der = e->der;
    X509_NAME *own = d2i_X509_NAME(NULL, &subject, e->subject_n);
    X509 *x = own && X509_NAME_cmp(own, name) == 0 ? d2i_X509(NULL, &der, e->n) : NULL;
    if (x)
        X509_STORE_add_cert(store, x);
    X509_free(x);
    X509_NAME_free(own);
}

/* Adds the certificates with this subject to the store. A name with wide characters may equal
 * any subject. */
static void parse_subject(const struct bundle *b, const X509_NAME *name, X509_STORE *store) {
    unsigned char *der = NULL;
    int n = i2d_X509_NAME(name, &der);
    uint64_t sum;
    bool summed = n > 0 && sum_name(der, n, &sum);
    for (size_t i = 0; i < b->n; i++)
        if (!summed || b->list[i].sum == sum)
            parse_entry(&b->list[i], name, store);
    OPENSSL_free(der);
}

/* The result is borrowed from the store. */
static int by_subject(X509_LOOKUP *lookup, X509_LOOKUP_TYPE type, const X509_NAME *name,
                      X509_OBJECT *out) {
    const struct bundle *b = X509_LOOKUP_get_method_data(lookup);
    X509_STORE *store = X509_LOOKUP_get_store(lookup);
    if (type != X509_LU_X509 || !b)
        return 0;
    ERR_set_mark();
    parse_subject(b, name, store);
    ERR_pop_to_mark();
    X509_STORE_lock(store);
    X509_OBJECT *found =
        X509_OBJECT_retrieve_by_subject(X509_STORE_get0_objects(store), type, name);
    X509 *x = found ? X509_OBJECT_get0_X509(found) : NULL;
    int ok = x && X509_OBJECT_set1_X509(out, x);
    if (ok)
        X509_free(x); /* the reference of `out`; the store keeps its own */
    X509_STORE_unlock(store);
    return ok;
}

static void on_free(X509_LOOKUP *lookup) {
    struct bundle *b = X509_LOOKUP_get_method_data(lookup);
    if (b)
        bundle_free(b);
}

X509_LOOKUP_METHOD *ch_tls_bundle_method(void) {
    X509_LOOKUP_METHOD *m = X509_LOOKUP_meth_new("chela: a bundle");
    if (m && X509_LOOKUP_meth_set_get_by_subject(m, by_subject) &&
        X509_LOOKUP_meth_set_free(m, on_free))
        return m;
    X509_LOOKUP_meth_free(m);
    return NULL;
}

int ch_tls_bundle_load(SSL_CTX *ssl, X509_LOOKUP_METHOD *method, const char *path) {
    struct bundle *b = method ? bundle_read(path) : NULL;
    X509_LOOKUP *lookup = b ? X509_STORE_add_lookup(SSL_CTX_get_cert_store(ssl), method) : NULL;
    ERR_clear_error();
    if (lookup && !X509_LOOKUP_get_method_data(lookup))
        return X509_LOOKUP_set_method_data(lookup, b);
    if (b)
        bundle_free(b);
    return SSL_CTX_load_verify_file(ssl, path);
}
