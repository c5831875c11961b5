/* Two things stand between a user and messages in their language. A locale that their system has
 * not got (LANG came over SSH) leaves the program in "C", and there the C library looks up nothing,
 * whatever LANGUAGE says. The locale C.UTF-8, which is always there, serves both: it knows the
 * characters, and in it LANGUAGE decides. For glibc 2.41 that is so only under another name: a
 * territory that is not there is left out when the locale's files are looked for. */
#include "base/language.h"

#include <langinfo.h>
#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DOMAIN "tinca"
static const char spare_locale[] = "C.UTF-8", other_name[] = "C_XX.UTF-8";

const char *const language_names[] = {"en", "pt_BR", NULL};

/* --- the environment --- */

/* What the environment names for a category, or "". */
static const char *wished(const char *category)
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
    const char *name = wished("LC_CTYPE");
    if (strcasestr(name, "utf-8") || strcasestr(name, "utf8"))
        setlocale(LC_CTYPE, spare_locale);
}

/* LANGUAGE decides from then on. */
static void leave_to_language(void)
{
    if (!setlocale(LC_MESSAGES, other_name))
        setlocale(LC_MESSAGES, spare_locale);
}

/* ASCII has a catalogue of its own, without accents: the C library would print question marks. */
static void look_up(const char *language)
{
    char name[64];
    bool ascii = strcmp(nl_langinfo(CODESET), "ANSI_X3.4-1968") == 0;
    snprintf(name, sizeof name, "%.*s%s", (int)strcspn(language, ".@"), language,
             ascii ? "@ascii" : "");
    leave_to_language();
    setenv("LANGUAGE", name, true);
}

static void set_messages(const char *language)
{
    const char *list = getenv("LANGUAGE"), *found = language ? NULL : setlocale(LC_MESSAGES, "");
    if (language)
        look_up(language);
    else if (list && list[0] && (!found || strncmp(found, "C.", 2) == 0))
        leave_to_language();
    else if (!found)
        look_up(wished("LC_MESSAGES"));
}

/* --- the catalogues --- */

/* A program that was not installed has them beside it. */
static bool find_uninstalled(char *folder, size_t size)
{
    static const char name[] = "locale";
    struct stat status;
    ssize_t length = readlink("/proc/self/exe", folder, size - 1);
    if (length <= 0)
        return false;
    folder[length] = '\0';
    char *base = strrchr(folder, '/');
    if (!base || (size_t)(base + 1 - folder) + sizeof name > size)
        return false;
    memcpy(base + 1, name, sizeof name);
    return stat(folder, &status) == 0 && S_ISDIR(status.st_mode);
}

void language_begin(const char *language)
{
    char folder[4096];
    set_characters();
    set_messages(language);
    bindtextdomain(DOMAIN, find_uninstalled(folder, sizeof folder) ? folder : LOCALEDIR);
    textdomain(DOMAIN);
}

const char *language_text(const char *message)
{
    return message && message[0] ? gettext(message) : message;
}
