/* gitignore.h -- the rules of one .gitignore file.
 *
 * As gitignore(5) has them: "#" comments, "!" takes a rule back, a slash at the
 * end means directories, one elsewhere ties the rule to the file's directory,
 * "**" for any number of directories, the last rule that matches wins. What is
 * below an ignored directory is ignored too; that is the walker's business
 * (walk.c), which does not enter it, as is asking nested files first. */
#ifndef CH_TOOL_GITIGNORE_H
#define CH_TOOL_GITIGNORE_H
#include "base/mem.h"
#include "base/sv.h"

struct ch_ignore;

enum ch_ignored {
    CH_IGNORE_SILENT, /* no rule speaks of it */
    CH_IGNORE_YES,
    CH_IGNORE_NO /* taken back by "!" */
};

/* text is copied. Rules beyond CH_LIMIT_IGNORE_RULES do not count. */
struct ch_ignore *ch_ignore_new(struct ch_sv text);
void ch_ignore_free(struct ch_ignore *ig);
CH_DEFINE_AUTO(ch_ignore)

bool ch_ignore_cut(const struct ch_ignore *ig); /* there were more rules */

/* path: relative to the directory of the file, without a slash at its end. */
enum ch_ignored ch_ignore_ask(const struct ch_ignore *ig, struct ch_sv path, bool is_dir);

#endif
