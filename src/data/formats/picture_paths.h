/* picture_paths.h: the picture files that operands of a command name. */
#ifndef TINCA_DATA_FORMATS_PICTURE_PATHS_H
#define TINCA_DATA_FORMATS_PICTURE_PATHS_H

#include "data/formats/scan.h"

/* Adds the pictures of an operand: a file; a folder, with its own pictures first and then those of
 * its folders, each in the order of the names; or list:FILE.csv, whose first column has paths
 * relative to the list, and which is added to `lists`. Returns false with an error; a single file
 * is not looked at. */
bool picture_paths_add(struct name_list *paths, struct name_list *lists, const char *operand,
                       struct error *error);

#endif
