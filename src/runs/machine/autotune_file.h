/* autotune_file.h: the cache of measured times that plans of GPUs choose algorithms by.
 *
 * $XDG_CACHE_HOME/tinca/autotune.tsv (~/.cache by default) has a line for each measurement:
 *
 *   HARDWARE <tab> KEY <tab> VALUE <tab> SECONDS
 *
 * The last line of a key counts, so that processes which have measured the same at once agree from
 * then on. Lines that cannot be read count for nothing.
 */
#ifndef TINCA_RUNS_MACHINE_AUTOTUNE_FILE_H
#define TINCA_RUNS_MACHINE_AUTOTUNE_FILE_H

#include "engine/devices/device.h"

/* Makes the plans of a device use the cache of this process, which is read from the file when it is
 * first needed. With `measures`, plans measure what it lacks, and add it to the file; not if the
 * file cannot be written, because two runs must not differ only because each has measured for
 * itself. With `again` they measure everything anew. Returns false with an error if they should
 * measure and the file cannot be written: rules decide then where nothing is found. Call it only
 * for devices that measure (device_driver.use_autotune). Thread safe. */
bool autotune_file_use(struct device *device, bool measures, bool again, struct error *error);

/* Returns the path of the file, owned by the caller, or NULL with an error if neither HOME nor
 * XDG_CACHE_HOME is set. */
char *autotune_file_path(struct error *error);

#endif
