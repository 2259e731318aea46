/* gitignore.h -- the rules of one .gitignore file.
 *
 * Syntax of gitignore(5): "#" starts a comment, "!" negates a rule, a trailing slash
 * matches directories only, any other slash anchors the rule to the file's directory, "**"
 * matches any number of directories, the last matching rule wins. The walker (walk.c) does
 * two things that this module does not: it skips everything below an ignored directory, and
 * it asks nested .gitignore files first. */
#ifndef CH_TOOL_GITIGNORE_H
#define CH_TOOL_GITIGNORE_H
#include "base/mem.h"
#include "base/sv.h"

struct ch_ignore;

enum ch_ignored {
    CH_IGNORE_SILENT, /* no rule matches */
    CH_IGNORE_YES,
    CH_IGNORE_NO /* un-ignored by "!" */
};

/* text is copied. Rules beyond CH_LIMIT_IGNORE_RULES are ignored. */
struct ch_ignore *ch_ignore_new(struct ch_sv text);
void ch_ignore_free(struct ch_ignore *ig);
CH_DEFINE_AUTO(ch_ignore)

bool ch_ignore_cut(const struct ch_ignore *ig); /* True if rules beyond the limit were dropped. */

/* path is relative to the directory of the .gitignore file, without a trailing slash. */
enum ch_ignored ch_ignore_ask(const struct ch_ignore *ig, struct ch_sv path, bool is_dir);

#endif
