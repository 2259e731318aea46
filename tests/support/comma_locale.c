/* comma_locale.c -- see comma_locale.h. */
#include "support/comma_locale.h"

#include <locale.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

static char dir[] = "/tmp/chela-locale-XXXXXX";
static bool compiled;

bool comma_locale_enter(void) {
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "ru_RU.UTF-8"};
    char command[128];
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (setlocale(LC_ALL, names[i]))
            return true;
    compiled = mkdtemp(dir) != NULL;
    snprintf(command, sizeof(command), "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 2>&1", dir);
    if (!compiled || system(command) != 0 || setenv("LOCPATH", dir, 1) != 0)
        return false;
    return setlocale(LC_ALL, "de_DE.UTF-8") != NULL;
}

void comma_locale_leave(void) {
    char command[128];
    setlocale(LC_ALL, "C");
    unsetenv("LOCPATH");
    snprintf(command, sizeof(command), "rm -rf %s", dir);
    if (compiled && system(command) == 0)
        compiled = false;
}
