/* language.h: messages in the user's language (GNU gettext).
 *
 * `_` marks a message and translates it where it is used; `N_` only marks it, in a table of
 * constants, and whoever shows it calls gettext(). A message is a whole sentence or label: nothing
 * is put together from pieces, since other languages order them otherwise. Counted things use
 * ngettext. Numbers keep their point in every language: only characters and messages follow the
 * locale.
 */
#ifndef TINCA_BASE_LANGUAGE_H
#define TINCA_BASE_LANGUAGE_H

#include <libintl.h>

#define _(message)  gettext(message)
#define N_(message) message

/* The languages there are, NULL-terminated; the first is the one of the sources. */
extern const char *const language_names[];

/* Sets up characters and messages as the environment says, or messages in `language` (one of
 * language_names; NULL: as the environment says). The program's first act: it changes the locale
 * and the environment, which no thread may be reading yet. */
void language_begin(const char *language);

/* gettext(), but "" and NULL stay what they are. */
const char *language_text(const char *message) __attribute__((format_arg(1)));

#endif
