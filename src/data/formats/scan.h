/* scan.h: lists a folder, in an order that does not depend on the file system. */
#ifndef TINCA_DATA_FORMATS_SCAN_H
#define TINCA_DATA_FORMATS_SCAN_H

#include "base/error.h"
#include "data/images/spec.h"

#include <stddef.h>

/* Names, sorted by their bytes. */
struct name_list {
    char **name;
    size_t count, capacity;
};

/* Adds a copy of a name. Returns false with an error if out of memory. */
bool name_list_add(struct name_list *list, const char *name, struct error *error);

void name_list_free(struct name_list *list);

/* Lists the pictures (*.png, *.jpg, *.jpeg in upper or lower case) and the folders in `path`, but
 * not in its subfolders. Leaves out names that begin with a dot. Either list may be NULL. Returns
 * false with an error. */
bool scan_folder(const char *path, struct name_list *pictures, struct name_list *folders,
                 struct error *error);

/* Returns the folder that `spec` means, owned by the caller: DIR itself or, if DIR contains nothing
 * but folders called train, test, val or validation, the folder of the split (val counts as test).
 * Returns NULL with an error if a split was asked for by name and there is none. */
char *scan_choose_split(const struct spec *spec, struct error *error);

/* --- the picture files that operands of a command name --- */

/* Adds the pictures of an operand: a file; a folder, with its own pictures first and then those of
 * its folders, each in the order of the names; or list:FILE.csv, whose first column has paths
 * relative to the list, and which is added to `lists`. Returns false with an error; does not check
 * a single file. */
bool picture_paths_add(struct name_list *paths, struct name_list *lists, const char *operand,
                       struct error *error);

#endif
