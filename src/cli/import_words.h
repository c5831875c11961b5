/* import_words.h: notes and options that tinca import and tinca watch share. */
#ifndef TINCA_CLI_IMPORT_WORDS_H
#define TINCA_CLI_IMPORT_WORDS_H

#include "cli/options.h"

#include "base/language.h"
#include "exchange/logs/import.h"

#include <stdbool.h>
#include <stddef.h>

/* The rows of the options of all logs. */
#define IMPORT_MACHINE_OPTIONS(request)                                                            \
    NAME_ROW("device", "NAME", N_("The device that computed it."), &(request)->device,             \
             import_devices),                                                                      \
        TEXT_ROW("host", "NAME", N_("The machine that computed it."), &(request)->host)

/* The devices that can be named, NULL at the end. */
extern const char *const import_devices[];

/* The row of the option that maps names to quantities. */
#define IMPORT_COLUMNS_OPTION(variable)                                                            \
    TEXT_ROW("columns", "QUANTITY=NAME,...",                                                       \
             N_("Which column, key or tag is which quantity: step, epoch, time, loss, lr, "        \
                "val_loss, top1, top5, accuracy, batch, memory; without it, by their names."),     \
             variable)

/* Prints a line about a training that was read, if it has become a run, and notes about lines that
 * were left out or repeated, about an accuracy that was chosen from several, and about one of the
 * training. */
void import_words_print(const char *path, const struct import_result *result);

/* Adds the same as an object to a list and returns it; NULL if memory runs out. */
struct json *import_words_add(struct json *list, const struct import_result *result,
                              const char *path);

#endif
