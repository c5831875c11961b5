/* scan.h: what lies in a folder, in an order that does not depend on the file system. */
#ifndef TINCA_DATA_FORMATS_SCAN_H
#define TINCA_DATA_FORMATS_SCAN_H

#include "base/error.h"
#include "data/images/spec.h"

#include <stddef.h>

/* Names, sorted byte by byte. */
struct name_list {
    char **name;
    size_t count, capacity;
};

void name_list_free(struct name_list *list);

/* Lists the pictures (*.png, *.jpg, *.jpeg in any case) and the folders directly in `path`; what
 * begins with a dot is left out. Either list may be NULL. */
bool scan_folder(const char *path, struct name_list *pictures, struct name_list *folders,
                 struct error *error);

/* The folder that `spec` means, owned by the caller: DIR itself, or when DIR holds nothing but
 * folders called train, test, val or validation, the one of the split (val serves as test). A split
 * asked for by name must be there. */
char *scan_choose_split(const struct spec *spec, struct error *error);

#endif
