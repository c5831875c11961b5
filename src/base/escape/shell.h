/* shell.h: text that others wrote, as a word of a command line that the user copies. Thread-safe.
 */
#ifndef TINCA_BASE_ESCAPE_SHELL_H
#define TINCA_BASE_ESCAPE_SHELL_H

#include "base/text.h"

/* Appends a word so that a shell reads it as one, and so that all of it can be shown. */
void shell_word_append(struct text *text, const char *word);

/* Writes a word as the last operand of a command, with "--" before it where it would be taken for
 * an option. Half a word would name something else: "RUN" is written when the word does not fit.
 * Returns `out`. */
char *shell_operand(const char *word, char *out, size_t size);

#endif
