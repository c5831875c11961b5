/* setting_words.h: messages about settings in the words of the form.
 *
 * Messages of the session name a setting by its option, "--batch", as they are read on the command
 * line. On the screen the same setting is a row with a label, "Batch size".
 */
#ifndef TINCA_UI_SHARED_SETTING_WORDS_H
#define TINCA_UI_SHARED_SETTING_WORDS_H

#include "base/error.h"

#include <stddef.h>

/* Copies a text with the labels of settings in place of their options. A text that quotes a command
 * of tinca is copied as it is. Returns `out`. */
char *setting_words(const char *text, char *out, size_t size);

/* Returns the error with labels in place of options in all its texts. */
struct error setting_error(const struct error *error);

/* Writes the error as error_format does, with labels in place of options. Returns `text`. */
char *setting_error_format(const struct error *error, char *text, size_t size);

#endif
