/* say_languages.h -- the files of say.c, one for each language. */
#ifndef CH_BASE_SAY_LANGUAGES_H
#define CH_BASE_SAY_LANGUAGES_H
#include "base/say.h"

extern const char *const ch_say_en[CH_SAYS];
extern const char *const ch_say_zh[CH_SAYS];

#endif
