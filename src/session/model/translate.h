/* translate.h: what a network that makes pictures (pix2pix) makes of one image file.
 *
 * The picture is translated at its own size. A network made for inputs of H x W takes every
 * multiple of these, as long as no layer depends on the size; other pictures are padded by
 * reflection to the next multiples, and what the network makes of them is cut back. A picture of
 * the network's own size gives the bits that an evaluation computes for it. */
#ifndef TINCA_SESSION_MODEL_TRANSLATE_H
#define TINCA_SESSION_MODEL_TRANSLATE_H

#include "data/images/image.h"
#include "session/model/evaluate.h"

/* Both are RGB, owned by the caller, and empty after an error: `input`, the picture as the network
 * sees it without the padding, and `output`, what the network makes of it. */
struct translation {
    struct image input, output;
};

/* Translates one image file. Fails when the network makes no pictures, when the file cannot be
 * read, when the network takes no pictures of this size, and when there is no memory for them. Uses
 * the noise of the first image of a set. */
bool model_translate(struct model *model, const char *path, struct translation *translation,
                     struct error *error);

/* The same, with the output written as an RGB PNG. */
bool model_translate_file(struct model *model, const char *path, const char *output_path,
                          struct error *error);

void translation_free(struct translation *translation); /* leaves it {0} */

/* The network for one size of pictures other than its own. It shares the model's weights. */
struct translator;
void translator_free(struct translator *translator); /* may be NULL */

#endif
