/* run_id.h: IDs of runs: the time of the start, the network, and four random digits, such as
 * 20261121-063012-resnet20-dsc-0.35-1a2b (UTC). IDs sort by time and are file names.
 */
#ifndef TINCA_SESSION_VALUES_RUN_ID_H
#define TINCA_SESSION_VALUES_RUN_ID_H

#include <stddef.h>

enum {
    RUN_ID_SIZE = 64,              /* bytes, with the NUL */
    RUN_ID_NAME = RUN_ID_SIZE - 21 /* bytes for the network's name, with the NUL */
};

/* Writes the part of an ID that names the network. `network` is a built-in network's name or a
 * file's path; `suffixes` follow it ("-dsc-0.35", as network_full_name prints them; may be empty).
 * A long name is cut at the end, never within a suffix or a number; widths that do not fit
 * are left out. Returns `name`, which holds RUN_ID_NAME bytes. */
char *run_id_name(const char *network, const char *suffixes, char *name);

/* Writes a new ID of a run of `name` (see run_id_name). Returns `id`, which holds RUN_ID_SIZE
 * bytes. */
char *run_id_new(const char *name, char *id);

#endif
