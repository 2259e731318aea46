/* wecom_seal.h -- signatures and ciphers of callbacks and files. */
#ifndef CH_CHANNEL_WECOM_SEAL_H
#define CH_CHANNEL_WECOM_SEAL_H
#include "channel/wecom/wecom.h"

/* The key of 43 or 44 base64 characters; false: it is not one. */
bool ch_wecom_key(struct ch_sv text, unsigned char key[32]);
/* The signature of a callback, in hexadecimal digits. */
void ch_wecom_sign(const struct chela_channel_host *host, struct ch_sv token, struct ch_sv stamp,
                   struct ch_sv nonce, struct ch_sv sealed, char out[41]);
/* Decrypts the text of a callback; false: it is damaged, or for another receiver. */
bool ch_wecom_unseal(const struct chela_channel_host *host, const unsigned char key[32],
                     struct ch_sv sealed, struct ch_sv receiver, struct ch_buf *out);
/* random: 16 bytes */
bool ch_wecom_seal(const struct chela_channel_host *host, const unsigned char key[32],
                   const unsigned char random[16], struct ch_sv text, struct ch_sv receiver,
                   struct ch_buf *out);
/* Decrypts a file in place; the length, negative: it is damaged. */
long ch_wecom_unseal_file(const struct chela_channel_host *host, const unsigned char key[32],
                          struct ch_sv sealed, struct ch_buf *out);

#endif
