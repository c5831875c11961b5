/* preprocessing.h: everything that happens to a picture between its file and the network's input.
 *
 * It is a part of the model: training records it in the model's file, and validation, eval,
 * predict, measure, the workbench, the library and exported models follow it. In this order a
 * picture is
 *
 *   1. turned upright, if its EXIF data say how the camera was held;
 *   2. converted to the network's channels, 8 bits a sample (0..255); grey is that of the colours,
 *      or, in models that do not record `grey`, the luma of JPEG files;
 *   3. resized with `filter` so that its shorter side has that of the stored size;
 *   4. cut to the network's input: the middle, or a random window in training (a network that
 *      makes pictures has no 3 and 4: pictures are stretched to its input);
 *   5. normalised: (sample - mean) / deviation, in units of 0..255.
 *
 * Sets of fixed size skip the first four steps. A model or run without a record uses the
 * preprocessing of earlier versions, bilinear2: pictures are not turned, image_scale resizes them,
 * `unit` divides by 256, and measured normalisation reads the first 10,000 images. */
#ifndef TINCA_DATA_IMAGES_PREPROCESSING_H
#define TINCA_DATA_IMAGES_PREPROCESSING_H

#include "base/json/json.h"
#include "data/images/image.h"

/* Converts 8-bit samples to float32, per channel: (sample - mean) / deviation. */
struct normalisation {
    char name[16];               /* a preset's name, or "measured" */
    float mean[3], deviation[3]; /* in units of 0..255; a grey image uses the first */
    /* For a measured normalisation: the number of images read, and of all; whether they were drawn,
     * and by which seed. 0: not measured, or not known. */
    size_t measured, measured_of;
    bool drawn;
    uint64_t seed;
};

struct preprocessing {
    bool recorded; /* false: there is no record, and the other members are those of bilinear2 */
    enum image_filter filter;
    bool as_stored;                 /* EXIF orientation is ignored */
    bool luma;                      /* the grey of a JPEG file in colours is its luma */
    size_t channels, height, width; /* the network's input, which is cut out */
    /* The size before the crop. The shorter side counts, except that pairs are stretched to it in
     * training. */
    size_t stored_height, stored_width;
    bool stretched; /* outside training, pictures are stretched to the network's input */
    struct normalisation normalisation;
};

/* Resizes a picture for the crop. A picture that would be smaller than the crop is stretched to it,
 * and so is every picture for a network that makes pictures. */
bool preprocessing_fit(const struct preprocessing *preprocessing, struct image *image,
                       struct error *error);

/* Adds the members to `object`. Returns false if out of memory. */
bool preprocessing_to_json(const struct preprocessing *preprocessing, struct json *object);

/* Reads the members that preprocessing_to_json writes; channels, height, width and stretched, which
 * the network decides, must be set. Returns false if something is missing, damaged or unknown;
 * *what names it. */
bool preprocessing_from_json(struct preprocessing *preprocessing, const struct json *object,
                             const char **what);

/* Returns the same as a text of JSON, owned by the caller; NULL with an error. */
char *preprocessing_print(const struct preprocessing *preprocessing, struct error *error);

/* Parses such a text, as preprocessing_from_json; a text that is no JSON is damaged, too. */
bool preprocessing_parse(struct preprocessing *preprocessing, const char *text, const char **what);

/* Adds a normalisation as an object "normalisation" {name, mean, deviation} to `parent`, and, if
 * they are known, the images that it was measured on as "measured" {images, of, seed if they were
 * drawn}. Returns false if out of memory. */
bool normalisation_to_json(const struct normalisation *normalisation, struct json *parent);

/* Returns whether both give the same numbers for a picture with `channels` channels. */
bool normalisation_same(const struct normalisation *a, const struct normalisation *b,
                        size_t channels);

#endif
