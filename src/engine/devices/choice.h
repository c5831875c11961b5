/* choice.h: translates the explanation why a kernel was chosen.
 *
 * A plan has the explanation in English, which files and JSON store. It is translated here when it
 * is shown on a screen, also if an older version stored it.
 */
#ifndef TINCA_ENGINE_DEVICES_CHOICE_H
#define TINCA_ENGINE_DEVICES_CHOICE_H

#include <stddef.h>

/* Writes the translation of `choice` into text, cut where it does not fit, and returns text.
 * Unknown text stays as it is. */
char *choice_translate(const char *choice, char *text, size_t size);

#endif
