/* npz_file.h: an .npz file of NumPy that is being written: a ZIP archive of .npy arrays. */
#ifndef TINCA_SESSION_EXPORT_NPZ_FILE_H
#define TINCA_SESSION_EXPORT_NPZ_FILE_H

#include "base/files/output_file.h"
#include "data/formats/zip.h"

struct npz_file {
    struct output_file output;
    struct zip_writer zip;
};

/* Begins the file. Returns false with an error. */
bool npz_file_open(struct npz_file *npz, const char *path, struct error *error);

/* Adds an array in row order; `type` is as in NumPy, "<f4". Returns false with an error. */
bool npz_file_add(struct npz_file *npz, const char *name, const char *type, const size_t *shape,
                  size_t dimensions, const void *data, size_t bytes, struct error *error);

/* Adds a text, as an array without dimensions of NumPy's type str. Returns false with an error. */
bool npz_file_add_text(struct npz_file *npz, const char *name, const char *text,
                       struct error *error);

/* Completes the file if `complete`, or else leaves the target unchanged. Frees it in any case.
 * Returns false if it is not complete, or with an error if it cannot be written. */
bool npz_file_close(struct npz_file *npz, bool complete, struct error *error);

#endif
