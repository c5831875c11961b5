/* A network file states one input size, and graph, plan and execution belong to that size. For
 * pictures of another size the same file is built again with a larger input. Its weights do not
 * depend on the size unless a layer is linear; then the parameters differ, and the size is refused.
 * The model keeps the network of the last size, because pictures of a folder are often equally
 * large. */
#include "models/saved/translate.h"

#include "base/host/host.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/text.h"
#include "data/formats/image_file.h"
#include "data/loader/augment.h"
#include "models/saved/internal.h"
#include "models/saved/samples.h"

#include <stdio.h>
#include <stdlib.h>

void translation_free(struct translation *translation)
{
    image_free(&translation->input);
    image_free(&translation->output);
}

static struct shape output_shape(const struct network *network)
{
    return network->graph.nodes[network->graph.output].output;
}

/* --- the network for a size --- */

static bool has_equal_parameters(const struct graph *a, const struct graph *b)
{
    bool equal = a->parameter_count == b->parameter_count && a->total_floats == b->total_floats;
    for (size_t i = 0; equal && i < a->parameter_count; i++)
        equal = a->parameters[i].offset == b->parameters[i].offset &&
                a->parameters[i].count == b->parameters[i].count;
    return equal;
}

/* Checks that the output is as large as the input, so that the padding can be cropped. */
static bool is_size_kept(const struct network *network)
{
    const struct shape output = output_shape(network);
    return output.height == network->input.height && output.width == network->input.width;
}

static bool refuse_size(const struct model *model, const struct image *picture, const char *path,
                        struct error *error)
{
    char advice[96];
    const struct shape input = model->network->input;
    snprintf(advice, sizeof advice, _("scale the picture to %zux%zu pixels"), input.width,
             input.height);
    return error_set(error, ERROR_UNSUPPORTED, path, advice,
                     "%s translates pictures of one size only, and this one is %zux%zu",
                     model->network->name, picture->width, picture->height);
}

/* Returns the model's network with another input size, which the caller frees; NULL with an error
 * if its layers do not accept that size. */
static struct network *build_network(const struct model *model, size_t width, size_t height)
{
    const struct network *network = model->network;
    const struct network_request request = {.network = network->name,
                                            .text = network->source,
                                            .technique = network->technique,
                                            .classes = network->classes,
                                            .groups = network->groups,
                                            .width_rate = network->width_rate,
                                            .block_rate = network->block_rate,
                                            .widths = network->widths,
                                            .activation = network->activation,
                                            .input_height = height,
                                            .input_width = width};
    struct network *built = network_build(&request, NULL);
    if (built && has_equal_parameters(&built->graph, &network->graph))
        return built;
    network_free(built);
    return NULL;
}

static bool check_memory(const struct model *model, const struct plan *plan,
                         const struct image *picture, const char *path, struct error *error)
{
    char needed_text[32], room_text[32];
    const uint64_t needed = plan->arena.bytes + plan->prepared_bytes + plan->forecast.tables;
    const uint64_t room = model->device->driver->computes_on_host
                              ? host_available_bytes()
                              : device_memory_free(model->device->name);
    if (room == 0 || needed <= room)
        return true;
    return error_set(error, ERROR_MEMORY, path, "scale the picture down, or free some memory",
                     "%zux%zu pixels: %s needs %s of memory for them, and %s are free",
                     picture->width, picture->height, model->network->name,
                     text_bytes(needed, needed_text, sizeof needed_text),
                     text_bytes(room, room_text, sizeof room_text));
}

/* Makes the model's translator for pictures that are padded to width x height. Returns false with
 * an error. */
static bool make_translator(struct model *model, const struct image *picture, size_t width,
                            size_t height, const char *path, struct error *error)
{
    const struct plan_settings settings = {.mode = PLAN_INFERENCE,
                                           .batch = 1,
                                           .threads = model->device->threads,
                                           .strict_device = model->device->strict,
                                           .precision = model->device->precision,
                                           .device = model->device,
                                           .machine = &model->device->machine,
                                           .choices = model->device->choices};
    struct translator *translator = model->translator;
    if (translator && translator->network->input.width == width &&
        translator->network->input.height == height)
        return true;
    translator_free(translator);
    model->translator = translator = memory_new(1, sizeof *translator, "the network", error);
    if (!translator)
        return false;
    bool made = (translator->network = build_network(model, width, height)) ||
                refuse_size(model, picture, path, error);
    made = made &&
           (translator->plan =
                plan_build(&translator->network->graph, model->device->driver, &settings, error)) &&
           check_memory(model, translator->plan, picture, path, error) &&
           (translator->execution =
                execution_create(translator->plan, model->device, &model->weights, NULL, 0, error));
    if (made)
        return true;
    translator_free(translator);
    model->translator = NULL;
    return false;
}

/* Returns the network for a padded size: the model's own if it has that size; NULL with an error.
 */
static const struct network *choose_network(struct model *model, const struct image *picture,
                                            size_t width, size_t height, const char *path,
                                            struct error *error)
{
    const struct network *own = model->network;
    const struct network *network = own;
    if (width != own->input.width || height != own->input.height)
        network = make_translator(model, picture, width, height, path, error)
                      ? model->translator->network
                      : NULL;
    const bool pads = width != picture->width || height != picture->height;
    if (network && pads && !is_size_kept(network)) {
        refuse_size(model, picture, path, error);
        return NULL;
    }
    return network;
}

/* Returns the output, valid until the next call; NULL with an error. */
static const float *infer(struct model *model, const struct network *network, const float *values,
                          struct error *error)
{
    struct execution_batch batch = {.images = values, .count = 1};
    if (network == model->network)
        return model_infer(model, values, 0, error);
    struct execution *execution = model->translator->execution;
    execution_bind(execution, &batch);
    execution_forward(execution, 0);
    const float *output = execution_output(execution);
    return device_check(model->device, error) ? output : NULL;
}

/* --- one picture --- */

static size_t next_multiple(size_t side, size_t of)
{
    return (side + of - 1) / of * of;
}

/* Returns the picture normalised as data sets are, which the caller frees; NULL if out of
 * memory. */
static float *make_values(const struct model *model, const struct image *padded,
                          struct error *error)
{
    const struct crop whole = {.width = padded->width, .height = padded->height};
    struct sample_table table;
    float *values = memory_new_aligned(padded->width * padded->height * padded->channels,
                                       sizeof *values, "an image", error);
    sample_table_fill(&table, &model->preprocessing.normalisation);
    if (values)
        crop_write(values, padded, &whole, &table);
    return values;
}

/* Computes the output for the padded picture; it still has the padding. */
static bool run_network(struct model *model, const struct network *network,
                        const struct image *padded, struct image *whole, struct error *error)
{
    const struct shape shape = output_shape(network);
    float *values = make_values(model, padded, error);
    const float *output = values ? infer(model, network, values, error) : NULL;
    bool made = output && image_create(whole, shape.width, shape.height, 3, error);
    if (made)
        picture_paste(whole, 0, 0, &model->preprocessing.normalisation, shape, output);
    free(values);
    return made;
}

/* Pads opposite sides equally; an odd pixel goes to the right or the bottom. */
static bool translate_padded(struct model *model, const struct network *network, size_t width,
                             size_t height, struct translation *translation, struct error *error)
{
    const struct image *picture = &translation->input;
    const size_t left = (width - picture->width) / 2, top = (height - picture->height) / 2;
    struct image padded = {0}, whole = {0};
    bool made =
        image_pad_reflected(&padded, picture, left, top, width, height, error) &&
        run_network(model, network, &padded, &whole, error) &&
        image_cut(&translation->output, &whole, left, top, picture->width, picture->height, error);
    image_free(&padded);
    image_free(&whole);
    return made;
}

static bool translate_picture(struct model *model, const char *path,
                              struct translation *translation, struct error *error)
{
    const struct shape own = model->network->input;
    struct image *picture = &translation->input;
    if (!image_file_read_as(picture, path, own.channels, &model->preprocessing, error))
        return false;
    const size_t width = next_multiple(picture->width, own.width);
    const size_t height = next_multiple(picture->height, own.height);
    const struct network *network = choose_network(model, picture, width, height, path, error);
    if (!network)
        return false;
    if (width == picture->width && height == picture->height)
        return run_network(model, network, picture, &translation->output, error);
    return translate_padded(model, network, width, height, translation, error);
}

bool model_translate(struct model *model, const char *path, struct translation *translation,
                     struct error *error)
{
    const struct shape output = output_shape(model->network);
    *translation = (struct translation){0};
    if (model->network->classes > 0 || (output.channels != 1 && output.channels != 3))
        return error_set(error, ERROR_UNSUPPORTED, model->network->name, NULL,
                         "this network makes no pictures");
    if (translate_picture(model, path, translation, error) &&
        image_convert(&translation->input, 3, error))
        return true;
    translation_free(translation);
    return false;
}

bool model_translate_file(struct model *model, const char *path, const char *output_path,
                          struct error *error)
{
    struct translation translation;
    bool translated = model_translate(model, path, &translation, error) &&
                      image_file_export_png(&translation.output, output_path, error);
    translation_free(&translation);
    return translated;
}
