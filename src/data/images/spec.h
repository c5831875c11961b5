/* spec.h: `KIND[:DIR][,OPTION=VALUE]...` taken apart. Internal to data/. */
#ifndef TINCA_DATA_IMAGES_SPEC_H
#define TINCA_DATA_IMAGES_SPEC_H

#include "base/error.h"

#include <stddef.h>

enum { SPEC_MAX_CLASSES = 100000 };

struct spec {
    char text[512];      /* as given */
    char kind[32];       /* not yet looked up */
    char directory[512]; /* "" when none was given; a leading ~/ is the home directory */
    char only[256];      /* class name or number, "" when not given */
    size_t limit;        /* 0: not given */
    size_t classes;      /* 0: not given */
    bool test;           /* split=test, or so by default */
    bool split_given;    /* ... and which of the two it was */
    bool reversed;       /* direction=ba */
    bool direction_given;
    bool refuse_broken; /* broken=refuse: an unreadable image of a folder is an error */
    bool broken_given;
};

/* Takes `text` apart. An unknown option or a value out of range is ERROR_USAGE, and says what there
 * is. `default_split` is "train" or "test". */
bool spec_parse(struct spec *spec, const char *text, const char *default_split,
                struct error *error);

#endif
