/* choice.h: why a kernel was chosen, in the user's language.
 *
 * Plans say it in English, since files and JSON keep it; whoever shows it to people translates it
 * here, also what an older run has kept.
 */
#ifndef TINCA_ENGINE_DEVICES_CHOICE_H
#define TINCA_ENGINE_DEVICES_CHOICE_H

#include <stddef.h>

/* Writes the translation of `choice` into text, cut where it does not fit, and returns text. What
 * is not known stays as it is. */
char *choice_translate(const char *choice, char *text, size_t size);

#endif
