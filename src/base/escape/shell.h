/* shell.h: quotes untrusted text for a command line that the user may copy. Thread-safe. */
#ifndef TINCA_BASE_ESCAPE_SHELL_H
#define TINCA_BASE_ESCAPE_SHELL_H

#include "base/text.h"

/* Appends `word` so that a shell reads it as one word and that every character of it is visible. */
void shell_word_append(struct text *text, const char *word);

/* Writes `word`, quoted, as the last operand of a command. Puts "--" before a word that begins with
 * '-', so that it is not read as an option. If the quoted word does not fit into `out`, writes
 * the placeholder RUN, since a truncated name could be that of another run. Returns `out`. */
char *shell_operand(const char *word, char *out, size_t size);

#endif
