/* completion_line.h: what is being typed at the end of a command line: a command's option, the
 * value of one, or an operand. */
#ifndef TINCA_CLI_COMPLETION_LINE_H
#define TINCA_CLI_COMPLETION_LINE_H

#include "cli/options.h"

#include <stdbool.h>
#include <stddef.h>

enum { COMPLETION_LINE_OPTIONS = 128 };

struct completion_line {
    const struct option_entry *option;   /* whose value is typed; NULL: none */
    const char *value;                   /* what is typed of it, or of the operand */
    size_t before;                       /* bytes of the word before the value: of "--batch=" */
    bool only_operands;                  /* behind -- */
    bool is_option;                      /* the name of an option is typed */
    size_t operand;                      /* the number of the operand that is typed */
    bool given[COMPLETION_LINE_OPTIONS]; /* the options that stand before, by their number */
};

/* Reads the words of a command line after the command's name, as getopt_long does. The last one is
 * being typed and may be empty; there is at least one. */
struct completion_line completion_line_read(const struct option_entry *entries, size_t count,
                                            char *const *words, size_t word_count);

#endif
