/* source.h: opens a data set and reads its images, for the targets that are data sets. */
#ifndef TINCA_TESTS_FUZZ_SOURCE_H
#define TINCA_TESTS_FUZZ_SOURCE_H

#include "data/images/source.h"

/* Opens the set in the scratch folder and reads all its images. */
void source_walk(source_open *open, const char *directory);

#endif
