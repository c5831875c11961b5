/* computed_with.h: the software and the instruction set or GPU with which a run was computed,
 * the kernels of its plans, and its command.
 *
 * A checkpoint's metadata and the journal's events "start" and "resume" record the version of tinca
 * ("version"), that of its arithmetic ("numerics"), the instruction set or GPU ("kernels") and, on
 * the device cpu, the BLAS library ("blas"). */
#ifndef TINCA_RUNS_FOLDER_COMPUTED_WITH_H
#define TINCA_RUNS_FOLDER_COMPUTED_WITH_H

#include "base/json/json.h"
#include "engine/devices/device.h"
#include "engine/plan/plan.h"

enum {
    COMPUTED_PROGRAM,
    COMPUTED_NUMERICS,
    COMPUTED_KERNELS,
    COMPUTED_BLAS,
    COMPUTED_WITH,
    COMPUTED_WITH_SIZE = 80
};

/* Keys and values; an empty value does not apply to the device. */
struct computed_with {
    const char *keys[COMPUTED_WITH];
    char values[COMPUTED_WITH][COMPUTED_WITH_SIZE];
};

/* Returns what a message calls a value, untranslated. */
const char *computed_with_word(size_t value);

/* Fills *here with the values of this process. */
void computed_with_here(struct computed_with *here, const char *device,
                        enum device_precision precision);

/* Adds the values of this process to an event of the journal. Returns false if out of
 * memory. */
bool computed_with_add(struct json *event, const char *device, enum device_precision precision);

/* --- the kernels that plans chose --- */

/* The record of the kernels that a plan chose by prediction, since the last digits of its results
 * depend on them. The record is an object with the nodes of each kernel: {"conv winograd":
 * ["conv2", "conv3"], "conv blocked": ["conv1"]}. A checkpoint's metadata ("chosen") and the
 * journal's event "start" have that of a run's validations. */

/* Returns the record of a plan (NULL: of none), as a text that the caller frees, or NULL with an
 * error. */
char *kernel_choices_text(const struct plan *plan, struct error *error);

/* Adds a record to an object as "chosen". Returns false if out of memory. */
bool kernel_choices_add(struct json *object, const char *text);

/* Reads a record; NULL reads as an empty one. The caller frees it with kernel_choices_free. Returns
 * false with an error if it is damaged. */
bool kernel_choices_read(const char *text, struct plan_choices *choices, struct error *error);
void kernel_choices_free(struct plan_choices *choices);

enum { KERNEL_CHOICES_SUMMARY = 128 };

/* Writes how many nodes each kernel has, and a checksum that two equal records share: "conv
 * winograd 18, conv blocked 1, crc32 1a2b3c4d". "": nothing was predicted. Returns `summary`. */
char *kernel_choices_summarise(const char *text, char summary[KERNEL_CHOICES_SUMMARY]);

/* --- provenance.json --- */

/* The provenance of a run, stored in RUN/provenance.json when it begins: the command line, and the
 * versions of program, arithmetic, compiler, BLAS library, system kernel and microcode. Runs of
 * earlier versions lack the file; resuming a run does not change it.
 *
 * {"format": "tinca-provenance", "version": 1, "command": ["tinca", "train", ...], "software":
 * {"tinca", "numerics", "compiler", "blas", "kernels", "kernel", "cpu", "microcode"}} A text that
 * is unknown or does not apply is missing. */

/* Returns the text of the file, with its checksum, for a run of this process that computes on an
 * opened device. The caller frees it. Returns NULL with an error. */
char *provenance_make(const char *device, enum device_precision precision, struct error *error);

/* Adds "command" and "software" of the file's object `root` (NULL: there is no file) to an object.
 * Returns false if memory is short. */
bool provenance_add(struct json *object, const struct json *root);

#endif
