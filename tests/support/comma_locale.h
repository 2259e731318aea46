/* comma_locale.h -- a locale with a decimal comma and foreign names of days, for tests. */
#ifndef SUPPORT_COMMA_LOCALE_H
#define SUPPORT_COMMA_LOCALE_H
#include <stdbool.h>

/* Switch the process to the locale, which is compiled if the system has none. False: the system
 * has no sources of locales. */
bool comma_locale_enter(void);

/* Switch back to "C" and remove what was compiled. */
void comma_locale_leave(void);

#endif
