/* wecom_seal.c -- signatures and ciphers of callbacks and files.
 *
 * AES-256-CBC, padded to a multiple of 32 bytes; the first 16 bytes of the key are the initial
 * vector. The text of a callback is 16 random bytes, a length of 4 bytes, the message, and the
 * id of its receiver. */
#include "channel/wecom/wecom_seal.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/base64.h"

#define HEAD 20 /* random bytes and length */

bool ch_wecom_key(struct ch_sv text, unsigned char key[32]) {
    CH_BUF_AUTO bytes = {0};
    if (!ch_base64_read(text, &bytes) || bytes.n != 32)
        return false;
    memcpy(key, bytes.p, 32);
    return true;
}

static int seal_compare(const void *a, const void *b) {
    const struct ch_sv *x = a, *y = b;
    int order = memcmp(x->p, y->p, CH_MIN(x->n, y->n));
    return order ? order : (x->n > y->n) - (x->n < y->n);
}

void ch_wecom_sign(const struct chela_channel_host *host, struct ch_sv token, struct ch_sv stamp,
                   struct ch_sv nonce, struct ch_sv sealed, char out[41]) {
    struct ch_sv parts[] = {token, stamp, nonce, sealed};
    unsigned char digest[20];
    CH_BUF_AUTO all = {0};
    qsort(parts, CH_LEN(parts), sizeof(parts[0]), seal_compare);
    for (size_t i = 0; i < CH_LEN(parts); i++)
        ch_buf_add_sv(&all, parts[i]);
    host->sha1(ch_kit_text(ch_buf_sv(&all)), digest, host->user);
    for (size_t i = 0; i < sizeof(digest); i++)
        snprintf(out + 2 * i, 3, "%02x", digest[i]);
}

bool ch_wecom_unseal(const struct chela_channel_host *host, const unsigned char key[32],
                     struct ch_sv sealed, struct ch_sv receiver, struct ch_buf *out) {
    CH_BUF_AUTO bytes = {0}, plain = {0};
    if (!ch_base64_read(sealed, &bytes) || !bytes.n || !ch_buf_reserve(&plain, bytes.n))
        return false;
    long n = host->aes_decrypt(key, key, ch_kit_text(ch_buf_sv(&bytes)), CHELA_CHANNEL_PKCS7_32,
                               plain.p, host->user);
    if (n < HEAD)
        return false;
    const unsigned char *p = (const unsigned char *)plain.p;
    size_t rest = (size_t)n - HEAD;
    size_t size = (size_t)p[16] << 24 | (size_t)p[17] << 16 | (size_t)p[18] << 8 | p[19];
    if (size > rest || !ch_sv_eq(receiver, ch_sv(plain.p + HEAD + size, rest - size)))
        return false;
    ch_buf_add(out, plain.p + HEAD, size);
    return true;
}

bool ch_wecom_seal(const struct chela_channel_host *host, const unsigned char key[32],
                   const unsigned char random[16], struct ch_sv text, struct ch_sv receiver,
                   struct ch_buf *out) {
    unsigned char size[4] = {(unsigned char)(text.n >> 24), (unsigned char)(text.n >> 16),
                             (unsigned char)(text.n >> 8), (unsigned char)text.n};
    CH_BUF_AUTO plain = {0}, sealed = {0};
    ch_buf_add(&plain, random, 16);
    ch_buf_add(&plain, size, sizeof(size));
    ch_buf_add_sv(&plain, text);
    ch_buf_add_sv(&plain, receiver);
    if (plain.overflow || !ch_buf_reserve(&sealed, plain.n + 32))
        return false;
    long n = host->aes_encrypt(key, key, ch_kit_text(ch_buf_sv(&plain)), CHELA_CHANNEL_PKCS7_32,
                               sealed.p, host->user);
    return n > 0 && ch_base64_add(out, ch_sv(sealed.p, (size_t)n)) == 0;
}

long ch_wecom_unseal_file(const struct chela_channel_host *host, const unsigned char key[32],
                          struct ch_sv sealed, struct ch_buf *out) {
    if (!sealed.n || !ch_buf_reserve(out, sealed.n))
        return -1;
    long n = host->aes_decrypt(key, key, ch_kit_text(sealed), CHELA_CHANNEL_PKCS7_32, out->p,
                               host->user);
    if (n > 0)
        ch_buf_commit(out, (size_t)n);
    return n;
}
