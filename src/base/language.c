/* Finds the user's language even if the system lacks their locale, as when LANG came over SSH.
 *
 * setlocale then fails and leaves the program in the locale "C", in which gettext translates
 * nothing, whatever LANGUAGE says. This file falls back to C.UTF-8, which every system has: it
 * handles all characters, and gettext obeys LANGUAGE in it. Since glibc 2.41, gettext ignores
 * LANGUAGE in every locale whose name begins with "C.", so messages use the name C_XX.UTF-8; glibc
 * drops the unknown territory XX when it searches for the locale's files, and loads C.UTF-8. */
#include "base/language.h"

#include "base/program_file.h"

#include <langinfo.h>
#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DOMAIN "tinca"
static const char fallback_locale[] = "C.UTF-8", fallback_alias[] = "C_XX.UTF-8";

const char *const language_names[] = {"en", "pt_BR", NULL};

/* --- the environment --- */

/* Returns the locale that the environment names for a category, or "". */
static const char *requested_locale(const char *category)
{
    const char *const names[] = {"LC_ALL", category, "LANG"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value && value[0])
            return value;
    }
    return "";
}

static void set_characters(void)
{
    if (setlocale(LC_CTYPE, ""))
        return;
    const char *name = requested_locale("LC_CTYPE");
    if (strcasestr(name, "utf-8") || strcasestr(name, "utf8"))
        setlocale(LC_CTYPE, fallback_locale);
}

/* Makes gettext obey LANGUAGE. */
static void obey_language_variable(void)
{
    if (!setlocale(LC_MESSAGES, fallback_alias))
        setlocale(LC_MESSAGES, fallback_locale);
}

/* Selects a language. An ASCII terminal gets the catalogue without accents (LANGUAGE@ascii), for
 * which the C library would print question marks. */
static void set_language(const char *language)
{
    char name[64];
    bool ascii = strcmp(nl_langinfo(CODESET), "ANSI_X3.4-1968") == 0;
    snprintf(name, sizeof name, "%.*s%s", (int)strcspn(language, ".@"), language,
             ascii ? "@ascii" : "");
    obey_language_variable();
    setenv("LANGUAGE", name, true);
}

static void set_messages(const char *language)
{
    const char *list = getenv("LANGUAGE"), *found = language ? NULL : setlocale(LC_MESSAGES, "");
    if (language)
        set_language(language);
    else if (list && list[0] && (!found || strncmp(found, "C.", 2) == 0))
        obey_language_variable();
    else if (!found)
        set_language(requested_locale("LC_MESSAGES"));
}

/* --- the catalogues --- */

void language_begin(const char *language)
{
    char folder[4096];
    set_characters();
    set_messages(language);
    bindtextdomain(DOMAIN,
                   program_file_beside("locale", folder, sizeof folder) ? folder : LOCALEDIR);
    textdomain(DOMAIN);
}

const char *language_text(const char *message)
{
    return message && message[0] ? gettext(message) : message;
}
