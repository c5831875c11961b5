/* powercap_tree.h: a made tree of energy counters, as Linux shows them in /sys/class/powercap. */
#ifndef TINCA_TESTS_POWERCAP_TREE_H
#define TINCA_TESTS_POWERCAP_TREE_H

#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* Writes a file of a zone. A reader sees the old or the new text, never half of it. */
static inline void powercap_write(const char *folder, const char *zone, const char *name,
                                  const char *text)
{
    char path[512], fresh[520];
    mkdir(folder, 0755);
    snprintf(path, sizeof path, "%s/%s", folder, zone);
    mkdir(path, 0755);
    snprintf(path, sizeof path, "%s/%s/%s", folder, zone, name);
    snprintf(fresh, sizeof fresh, "%s.new", path);
    FILE *file = fopen(fresh, "w");
    if (!file || fprintf(file, "%s\n", text) < 0 || fclose(file) != 0 || rename(fresh, path) != 0)
        tap_note("%s could not be written", path);
}

static inline void powercap_make_zone(const char *folder, const char *zone, const char *name,
                                      const char *microjoules)
{
    powercap_write(folder, zone, "name", name);
    powercap_write(folder, zone, "max_energy_range_uj", "262143328850");
    powercap_write(folder, zone, "energy_uj", microjoules);
}

static inline void powercap_remove(const char *folder)
{
    char command[256];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0)
        tap_note("%s is left", folder);
}

#endif
