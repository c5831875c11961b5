/* completion_values.h: prints the words that can follow on a command line, for the scripts of
 * contrib/completion. Each function prints lines:
 *   =WORD<tab>NOTE   a whole word
 *   +WORD<tab>NOTE   a word that goes on: a folder, KIND:, KEY=
 *   :files [.END...] the shell adds files, those that end so
 *   :folders         the shell adds folders
 * WORD replaces the whole word that is typed. Not thread safe. */
#ifndef TINCA_CLI_COMPLETION_VALUES_H
#define TINCA_CLI_COMPLETION_VALUES_H

#include "cli/options.h"

#include <stdbool.h>
#include <stddef.h>

/* What is typed of a value: the word's bytes before it, which stay, and the value. */
struct typed_value {
    const char *word;
    size_t before;
    const char *value;
};

/* Prints a candidate if it begins with the value. `more`: it goes on. */
void completion_print(const struct typed_value *typed, const char *candidate, const char *note,
                      bool more);

/* Prints the candidates for the value of an option. */
void completion_print_values(const struct option_entry *option, const struct typed_value *typed);

/* Prints the candidates for the operand of this number. Returns false if the command takes no such
 * operand. */
bool completion_print_operands(const struct command *command, const struct option_set *set,
                               size_t operand, const struct typed_value *typed);

#endif
