/* chat_files.h -- files as parts of a message: @path. */
#ifndef CH_CLI_CHAT_FILES_H
#define CH_CLI_CHAT_FILES_H
#include "cli/chat/chat_source.h"

extern const struct ch_chat_source ch_chat_files;

/* True for the first bytes of an image or PDF that models accept. */
bool ch_chat_files_is_media(const char *p, size_t n);
/* A word that attaches the file: @path, in quotes if the path has spaces. The caller frees
 * it. */
char *ch_chat_files_word(const char *path);
/* Open a picker of the files of the workspace; the chosen one replaces the text of the
 * editor from byte `from` to the cursor. False: no file matches. */
bool ch_chat_files_pick(struct ch_chat *c, size_t from, const char *query);

#endif
