/* language.h: messages in the user's language (GNU gettext).
 *
 * `_` marks a message and translates it where it is used; `N_` only marks it, in a table of
 * constants, and whoever shows it calls gettext(). A message is a whole sentence or label: nothing
 * is put together from pieces, since other languages order them otherwise. Counted things use
 * ngettext.
 */
#ifndef TINCA_BASE_LANGUAGE_H
#define TINCA_BASE_LANGUAGE_H

#include <libintl.h>

#define _(message)  gettext(message)
#define N_(message) message

#endif
