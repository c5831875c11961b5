/* output.h: everything that the subcommands print: text, errors, one JSON document, tables.
 * Functions that return int return the exit status. Not thread safe. */
#ifndef TINCA_CLI_OUTPUT_H
#define TINCA_CLI_OUTPUT_H

#include "base/error.h"
#include "base/escape/table.h"
#include "base/json/json.h"
#include "base/language.h"
#include "engine/graph/tensor.h"
#include "exchange/frame/exchange.h"
#include "runs/values/statistics.h"

#include <stdbool.h>
#include <stddef.h>

/* output_print prints on standard output and output_note on standard error, as printf does. Each
 * string (%s) is escaped (base/escape/visible.h), so that no name from a file can control the
 * terminal. Subcommands print with these functions only. */
typedef void output_printer(const char *format, ...) __attribute__((format(printf, 1, 2)));
output_printer output_print, output_note;

/* Replaces the current line of standard error with `line`, cut to `columns`. */
void output_live(const char *line, size_t columns);
/* Erases that line. */
void output_live_clear(void);

/* Prints "tinca: what: why: what to do" on standard error. Returns the exit status for such an
 * error. */
int output_error(const struct error *error);

/* Remembers a model file that the command has written, and the data set that it was measured on
 * ("": none), for the table of models; says on standard error if that is not possible. */
void output_model_made(const char *path, const char *data);

/* Prints the document on standard output and frees it. `complete` says whether it could be built;
 * if not, the error is that memory is short. Returns the exit status. */
int output_json(struct json *root, bool complete);

enum { OUTPUT_WIDTH = 79 };

/* Prints `text` and a newline in lines of at most `width` columns, broken between words. The cursor
 * stands at `column`; further lines begin at `indent`. A control character, a newline included, is
 * printed as a question mark. */
void output_print_wrapped(const char *text, size_t indent, size_t column, size_t width);

/* Prints a text whose newlines separate paragraphs, and a newline. Each paragraph is wrapped. */
void output_print_paragraphs(const char *text, size_t width);

/* Adds "key": [channels, height, width]. False if out of memory. */
bool output_add_shape(struct json *parent, const char *key, struct shape shape);

/* Adds "key": {"median", "min", "mean", "sd", "ci95"}. False if out of memory. */
bool output_add_statistics(struct json *parent, const char *key,
                           const struct statistics *statistics);

/* Prints the result of an import or an export: as JSON, which is then no longer the report's, or as
 * text, or the error if there is one; and notes. Returns the exit status. */
int output_report(struct exchange_report *report, const struct error *error, bool as_json);

/* The row of --json for a table of options. */
#define OUTPUT_JSON_OPTION(flag)                                                                   \
    {                                                                                              \
        .name = "json", .help = N_("Print one JSON document and nothing else."),                   \
        .kind = OPTION_SWITCH, .value = (flag)                                                     \
    }

/* The row of -q: *flag says that only errors are printed. */
#define OUTPUT_QUIET_OPTION(flag)                                                                  \
    {                                                                                              \
        .name = "quiet", .letter = 'q', .help = N_("Print only errors."), .kind = OPTION_SWITCH,   \
        .value = (flag)                                                                            \
    }

/* The row of -o: what a document is written to, *target. */
#define OUTPUT_TARGET_OPTION(target)                                                               \
    {                                                                                              \
        .name = "output", .letter = 'o', .argument = "FILE",                                       \
        .help = N_("Write to FILE instead of standard output, which is also -."),                  \
        .kind = OPTION_TEXT, .value = (target)                                                     \
    }

/* The row of --format for a table of options: what to write to *target, whose ending decides if the
 * option is not given. */
#define OUTPUT_FORMAT_OPTION(format, names, target)                                                \
    {                                                                                              \
        .name = "format", .argument = "NAME", .help = N_("What to write."), .kind = OPTION_CHOICE, \
        .value = (format), .choices = (names), .output = (target)                                  \
    }

/* Prints the table on standard output, its last column wrapped to a terminal's width, and frees it.
 * Returns the exit status. */
int output_table(struct table *table);

#endif
