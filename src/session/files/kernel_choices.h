/* kernel_choices.h: the record of the kernels that a plan chose by prediction, since the last
 * digits of its results depend on them. Internal to session/, except for the JSON documents of
 * cli/.
 *
 * The record is an object with the nodes of each kernel: {"conv winograd": ["conv2", "conv3"],
 * "conv blocked": ["conv1"]}. A checkpoint's metadata ("chosen") and the journal's event "start"
 * have that of a run's validations.
 */
#ifndef TINCA_SESSION_FILES_KERNEL_CHOICES_H
#define TINCA_SESSION_FILES_KERNEL_CHOICES_H

#include "base/json/json.h"
#include "engine/plan/plan.h"

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

#endif
