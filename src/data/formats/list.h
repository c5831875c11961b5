/* list.h: the paths in a CSV file of pictures. Internal to data/. */
#ifndef TINCA_DATA_FORMATS_LIST_H
#define TINCA_DATA_FORMATS_LIST_H

#include "data/formats/scan.h"

/* Adds the paths in the first column of a list, with or without labels. Paths that are not absolute
 * are below the folder of the list. Returns false with an error. */
bool list_read_paths(const char *path, struct name_list *paths, struct error *error);

#endif
