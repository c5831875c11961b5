/* pictures.h: a source of picture files with labels: folder and list. Internal to data/.
 *
 * A file whose header cannot be read is left out and named, or is an error with broken=refuse. If a
 * file turns out to be unreadable later, the data loader replaces its image. */
#ifndef TINCA_DATA_FORMATS_PICTURES_H
#define TINCA_DATA_FORMATS_PICTURES_H

#include "data/formats/image_file.h"
#include "data/formats/scan.h"
#include "data/images/source.h"

struct picture {
    char *name;
    uint32_t label;
    struct image_file_cost cost;
};

struct pictures {
    char *root;
    struct name_list classes; /* by label; empty: there is one class, `only_name` */
    char *only_name;
    bool in_folders; /* a picture is root/CLASS/NAME, else root/NAME, or NAME if that is absolute */
    struct picture *item; /* source->images of them */
    size_t capacity;
    struct broken_list broken;
};

/* Initialises the source with an empty list; `spec` says whether broken pictures are skipped.
 * Returns its state, or NULL with an error. */
struct pictures *pictures_create(struct source *source, const struct spec *spec,
                                 struct error *error);

/* Checks the header of a picture, and adds it or names it as broken. */
bool pictures_add(struct source *source, const char *name, uint32_t label, struct error *error);

/* Frees the state. */
void pictures_close(struct source *source);

#endif
