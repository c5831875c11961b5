/* spec.h: parses the name of a data set, `KIND[:DIR][,OPTION=VALUE]...`, and lists its options.
 * Only data/ parses it; spec_value.h has the quoting of values. */
#ifndef TINCA_DATA_IMAGES_SPEC_H
#define TINCA_DATA_IMAGES_SPEC_H

#include "data/images/image.h"

#include <stddef.h>
#include <stdint.h>

enum { SPEC_MAX_CLASSES = 100000 };

/* An option, as menus list it. */
struct spec_option {
    const char *name;     /* "split" */
    const char *expected; /* describes its values */
    const char *words[2]; /* the values, if there are just two; else NULL */
};

/* Returns the array of all options and sets *count. */
const struct spec_option *spec_options(size_t *count);

struct spec {
    char text[640];       /* as given */
    char kind[32];        /* not checked */
    char directory[600];  /* "" if none was given; a leading ~/ is expanded */
    char only[256];       /* the name or number of a class; "" if not given */
    char images[512];     /* npz: the name of the array of images; "" if not given */
    char labels[512];     /* npz: the name of the array of labels; npy: its file; "" if not given */
    double share;         /* share= or rest=, in (0, 1); 0 if not given */
    bool rest;            /* all images but that share */
    uint64_t draw;        /* the seed that chooses the share; 1 if not given */
    size_t limit;         /* 0 if not given */
    size_t sample;        /* 0 if not given */
    size_t classes;       /* 0 if not given */
    bool test;            /* the test split, given or by default; else the training split */
    bool split_given;     /* split= was given */
    bool reversed;        /* direction=ba */
    bool direction_given; /* direction= was given */
    bool refuse_broken;   /* broken=refuse: an unreadable image of a folder is an error */
    bool broken_given;    /* broken= was given */
    enum image_filter filter; /* if filter_given */
    bool filter_given;
    bool as_stored; /* orient=no; if orient_given */
    bool orient_given;
    unsigned given; /* bit i: the option i of spec_options was given */
};

/* Parses `text`. `default_split` is "train" or "test". Returns false with ERROR_USAGE, which lists
 * the options, if an option is unknown or given twice, or a value is out of range. */
bool spec_parse(struct spec *spec, const char *text, const char *default_split,
                struct error *error);

#endif
