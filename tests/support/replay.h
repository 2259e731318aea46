/* replay.h -- for tests that play recorded bodies to a codec. */
#ifndef CH_TESTS_REPLAY_H
#define CH_TESTS_REPLAY_H
#include "base/arena.h"
#include "model/codec/codec.h"
#include "json/json.h"

/* The whole of a file, in the arena; {NULL,0} when it cannot be read. */
struct ch_sv replay_file(struct ch_arena *a, const char *path);
/* The JSON in a file, or NULL. */
const struct ch_json *replay_json(struct ch_arena *a, const char *path);

/* Names in a directory that end in `suffix`, without it, sorted; the caller
 * frees with replay_free_names. n is 0 when there is no such directory. */
char **replay_names(const char *dir, const char *suffix, size_t *n);
void replay_free_names(char **names, size_t n);

/* Decode a body handed over in pieces of `piece` bytes (0: in one) and append the reply as
 * `chela wire decode` prints it, then, if events is not NULL, a log of the events: the
 * combined content of each kind of event, independent of the pieces. */
void replay_decode(const struct ch_codec *codec, const struct ch_http_head *head, struct ch_sv body,
                   size_t piece, struct ch_buf *reply, struct ch_buf *events);

/* The same with two pieces, the first of `split` bytes. */
void replay_decode_split(const struct ch_codec *codec, const struct ch_http_head *head,
                         struct ch_sv body, size_t split, struct ch_buf *reply,
                         struct ch_buf *events);

/* SHA-1 as hexadecimal digits. */
void replay_sha1(struct ch_sv s, char hex[41]);

/* TAP. tap_end prints the plan and gives main's result. */
void tap_ok(bool ok, const char *fmt, ...) CHELA_PRINTF(2, 3);
void tap_note(const char *fmt, ...) CHELA_PRINTF(1, 2); /* prints a line "# ..." */
int tap_end(void);
int tap_passed(void);

#endif
