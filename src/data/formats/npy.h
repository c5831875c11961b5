/* npy.h: the header of NumPy's .npy files (NEP 1), versions 1 to 3: the magic number, the version,
 * the length of a text, and the text, a Python dictionary such as
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (60000, 28, 28), }
 * which is parsed here and never evaluated. */
#ifndef TINCA_DATA_FORMATS_NPY_H
#define TINCA_DATA_FORMATS_NPY_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

enum { NPY_MAX_DIMENSIONS = 4, NPY_MAX_HEADER = 1 << 16, NPY_START = 12 };

struct npy_header {
    char kind;   /* 'u', 'i', 'f' or 'b', as in NumPy's array interface */
    size_t item; /* bytes of an item: 1, 2, 4 or 8 */
    size_t dimensions, shape[NPY_MAX_DIMENSIONS];
    size_t items; /* the product of the shape */
    size_t bytes; /* bytes of the header, with the magic number; the data follows */
};

/* Parses a whole header of `size` bytes. Returns false with an error, also for arrays in column
 * order, of big-endian or structured items, of more dimensions than NPY_MAX_DIMENSIONS, or of more
 * than `limit` bytes. */
bool npy_header_parse(struct npy_header *header, const uint8_t *bytes, size_t size, size_t limit,
                      const char *path, struct error *error);

/* Writes the header of an array in row order: `type` is "<f4", "<f8", ... Returns its length, at
 * most 256 bytes; it is a multiple of 64. */
size_t npy_header_write(uint8_t *out, const char *type, const size_t *shape, size_t dimensions);

#endif
