/* source.h: opens a data set and looks at its images, for the targets that are data sets. */
#ifndef TINCA_TESTS_FUZZ_SOURCE_H
#define TINCA_TESTS_FUZZ_SOURCE_H

#include "data/images/source.h"

/* The set below the scratch folder, read to its last image. */
void source_walk(source_open *open, const char *directory);

#endif
