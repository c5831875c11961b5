/* language.h: messages in the user's language (GNU gettext).
 *
 * `_` marks a message and translates it. `N_` only marks it, for tables of constants; the code that
 * shows the message calls gettext(). Each message is a whole sentence or label, because other
 * languages order the parts of a sentence differently. Use ngettext for counted things. The locale
 * changes characters and messages only: numbers have a decimal point in every language.
 */
#ifndef TINCA_BASE_LANGUAGE_H
#define TINCA_BASE_LANGUAGE_H

#include <libintl.h>

#define _(message)  gettext(message)
#define N_(message) message

/* The languages of the program, NULL-terminated. The first is that of the sources. */
extern const char *const language_names[];

/* Sets the character set from the environment, and the language of messages to `language` (one of
 * language_names) or, if that is NULL, from the environment. Call this before any thread starts: it
 * changes the locale and the environment. */
void language_begin(const char *language);

/* Returns the translation of `message`. Returns "" and NULL unchanged. */
const char *language_text(const char *message) __attribute__((format_arg(1)));

#endif
