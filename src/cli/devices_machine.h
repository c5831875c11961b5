/* devices_machine.h: the figures of this machine, as tinca devices shows them. */
#ifndef TINCA_CLI_DEVICES_MACHINE_H
#define TINCA_CLI_DEVICES_MACHINE_H

#include "base/json/json.h"
#include "session/machine/machine_file.h"
#include "session/machine/tuned_device.h"

/* The figures of the device cpu with all cores. */
struct devices_machine {
    struct machine_key key;
    struct machine_model model; /* not measured: there are none */
    struct machine_origin origin;
    char *path; /* of their file; NULL: unknown */
};

/* Reads the figures or, after --tune, measures and stores them. Returns false with an error if the
 * device cannot be opened. The caller frees what it sets with devices_machine_free. */
bool devices_machine_find(struct devices_machine *machine, size_t threads, bool tune,
                          struct error *error);
void devices_machine_free(struct devices_machine *machine);

/* Adds the figures to the document. Returns false if out of memory. */
bool devices_machine_add(struct json *root, const struct devices_machine *machine);

/* Prints the figures. Returns the exit status. */
int devices_machine_print(const struct devices_machine *machine);

#endif
