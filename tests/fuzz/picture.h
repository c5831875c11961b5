/* picture.h: reads a picture file in each of the ways that tinca does. */
#ifndef TINCA_TESTS_FUZZ_PICTURE_H
#define TINCA_TESTS_FUZZ_PICTURE_H

#include <stddef.h>
#include <stdint.h>

void picture_walk(const char *name, const uint8_t *data, size_t size);

#endif
