/* The built-in data sets: a table of generators, and the source that calls them.
 *
 * Image i has the label i mod classes, so the first N images are balanced for every N. The seed is
 * part of the definition of the sets: if it changed, all published results would be void.
 */
#include "data/generated/generate.h"
#include "data/images/source.h"

#include <stdio.h>

#define DATA_SEED UINT64_C(20171129)

struct generated {
    const char *name;
    uint32_t stream;    /* RANDOM_GENERATE's stream is 2 x this for training, + 1 for testing */
    size_t classes;     /* number of classes of which images are drawn */
    size_t label_space; /* number of classes that have images */
    const char *const *class_names;
    size_t train, test; /* images */
    size_t side, channels;
    enum source_fit fit;
    size_t default_side; /* size of an example, unless the network's input says otherwise */
    bool flips;
    generate_image *generate;
};

enum { SHAPES, DIGITS, TENCH, MAPS, SETS };

static const struct generated sets[SETS] = {
    [SHAPES] = {.name = "shapes",
                .stream = 1,
                .classes = 10,
                .label_space = 10,
                .class_names = generate_shape_names,
                .train = 10000,
                .test = 2000,
                .side = 32,
                .channels = 3,
                .fit = SOURCE_FIXED,
                .default_side = 32,
                .flips = true,
                .generate = generate_shape},
    [DIGITS] = {.name = "digits",
                .stream = 2,
                .classes = 10,
                .label_space = 10,
                .class_names = generate_digit_names,
                .train = 10000,
                .test = 2000,
                .side = 28,
                .channels = 1,
                .fit = SOURCE_FIXED,
                .default_side = 28,
                .generate = generate_digit},
    [TENCH] = {.name = "tench",
               .stream = 3,
               .classes = 1,
               .label_space = 1000,
               .class_names = (const char *const[]){"tench"},
               .train = 1024,
               .test = 256,
               .side = 256,
               .channels = 3,
               .fit = SOURCE_CROP,
               .default_side = 224,
               .flips = true,
               .generate = generate_tench},
    [MAPS] = {.name = "maps",
              .stream = 4,
              .classes = 1,
              .label_space = 1,
              .class_names = (const char *const[]){"map"},
              .train = 200,
              .test = 40,
              .side = 256,
              .channels = 3,
              .fit = SOURCE_PAIR,
              .default_side = 256,
              .flips = true,
              .generate = generate_map},
};

/* A source's state: one constant for each set and split. */
static const struct generated_split {
    const struct generated *set;
    bool test;
} splits[SETS][2] = {
    [SHAPES] = {{&sets[SHAPES], false}, {&sets[SHAPES], true}},
    [DIGITS] = {{&sets[DIGITS], false}, {&sets[DIGITS], true}},
    [TENCH] = {{&sets[TENCH], false}, {&sets[TENCH], true}},
    [MAPS] = {{&sets[MAPS], false}, {&sets[MAPS], true}},
};

static size_t label(const struct source *source, size_t index)
{
    const struct generated_split *split = source->state;
    return index % split->set->classes;
}

static const char *class_name(const struct source *source, size_t number)
{
    const struct generated_split *split = source->state;
    return number < split->set->classes ? split->set->class_names[number] : NULL;
}

static void origin(const struct source *source, size_t index, char *text, size_t size)
{
    const struct generated_split *split = source->state;
    snprintf(text, size, "image %zu of the generated %s (%s)", index, split->set->name,
             split->test ? "test" : "train");
}

static bool read_image(const struct source *source, size_t index,
                       const struct source_request *request, struct image *image,
                       struct image *target, struct error *error)
{
    (void)request;
    const struct generated_split *split = source->state;
    const struct generated *set = split->set;
    if (!image_create(image, set->side, set->side, set->channels, error) ||
        (target && !image_create(target, set->side, set->side, set->channels, error)))
        return false;
    struct random_stream draws = random_stream_at(
        DATA_SEED, RANDOM_GENERATE, 2 * set->stream + split->test, (uint64_t)index << 16);
    set->generate(&draws, label(source, index), image, target);
    return true;
}

/* Counts both images of a pair. */
static uint64_t decode_bytes(const struct source *source, const struct source_request *request)
{
    const struct generated_split *split = source->state;
    const uint64_t image = (uint64_t)split->set->side * split->set->side * split->set->channels;
    (void)request;
    return source->fit == SOURCE_PAIR ? 2 * image : image;
}

static void close_generated(struct source *source)
{
    source->state = NULL;
}

static const struct source_operations operations = {
    .label = label,
    .class_name = class_name,
    .origin = origin,
    .read = read_image,
    .close = close_generated,
    .decode_bytes = decode_bytes,
};

static bool open_set(struct source *source, size_t which, const struct spec *spec)
{
    const struct generated *set = &sets[which];
    bool test = spec->test;
    *source = (struct source){.operations = &operations,
                              .state = (void *)&splits[which][test],
                              .images = test ? set->test : set->train,
                              .classes = spec->classes ? set->classes : set->label_space,
                              .fit = set->fit,
                              .channels = set->channels,
                              .height = set->default_side,
                              .width = set->default_side,
                              .flips = set->flips};
    return true;
}

bool shapes_open(struct source *source, const struct spec *spec, struct error *error)
{
    (void)error;
    return open_set(source, SHAPES, spec);
}

bool digits_open(struct source *source, const struct spec *spec, struct error *error)
{
    (void)error;
    return open_set(source, DIGITS, spec);
}

bool tench_open(struct source *source, const struct spec *spec, struct error *error)
{
    (void)error;
    return open_set(source, TENCH, spec);
}

bool maps_open(struct source *source, const struct spec *spec, struct error *error)
{
    (void)error;
    return open_set(source, MAPS, spec);
}
