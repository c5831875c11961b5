/* translate.h: translates an image file with a network that makes pictures (pix2pix).
 *
 * The output has the size of the input picture. A network for inputs of H x W accepts every
 * multiple of these sizes if no layer depends on the size. Other pictures are padded by reflection
 * to the next multiples, and the output is cropped. A picture of H x W gives the bits that an
 * evaluation gives. */
#ifndef TINCA_MODELS_SAVED_TRANSLATE_H
#define TINCA_MODELS_SAVED_TRANSLATE_H

#include "data/images/image.h"
#include "models/saved/evaluate.h"

/* The picture as the network sees it, without padding, and the network's output. Both are RGB,
 * belong to the caller, and are empty after an error. */
struct translation {
    struct image input, output;
};

/* Translates one image file with the noise of the first image of a set. Returns false with an error
 * if the network makes no pictures, the file cannot be read, the network does not accept pictures
 * of this size, or there is not enough memory. */
bool model_translate(struct model *model, const char *path, struct translation *translation,
                     struct error *error);

/* Translates one image file and writes the output as an RGB PNG. Returns false with an error. */
bool model_translate_file(struct model *model, const char *path, const char *output_path,
                          struct error *error);

/* Frees both pictures and resets *translation to {0}. */
void translation_free(struct translation *translation);

#endif
