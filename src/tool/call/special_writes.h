/* special_writes.h -- finds the files of a special kind that a call would write.
 *
 * A tool declares the files that it writes as exclusive resources (resource_locks.h). Links
 * are resolved here for the question to a person, and again when the tool opens the file
 * (path.h); a file of a more sensitive kind than the approved ones is then refused. */
#ifndef CH_TOOL_SPECIAL_WRITES_H
#define CH_TOOL_SPECIAL_WRITES_H
#include "chela/tool.h"
#include "guard/file_kind.h"

/* The most sensitive kind among the files that the call declared. *why: a line for each file
 * of a special kind with its reason, in the call's arena; NULL if there is no such file.
 * Files of a repository are not counted: the tool itself refuses them. */
enum ch_file_kind ch_special_writes(chela_call *call, const char **why);

#endif
