/* Reads the metadata of a saved model. The library contains this file, so it uses only constants
 * and types of data/. */
#include "models/saved/model_file.h"

#include "base/json/json.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/text.h"
#include "engine/network/network.h"
#include "engine/quantize/simulate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool parse_triple(const char *text, float *values)
{
    return text && sscanf(text, "%f %f %f", &values[0], &values[1], &values[2]) == 3 &&
           isfinite(values[0]) && isfinite(values[1]) && isfinite(values[2]);
}

/* Reads the members of a file that has no tinca.preprocessing. */
static bool read_earlier(struct preprocessing *p, const struct safetensors *file,
                         struct error *error)
{
    struct normalisation *normalisation = &p->normalisation;
    const char *name = safetensors_metadata(file, "tinca.normalisation");
    const char *stored = safetensors_metadata(file, "tinca.stored");
    p->filter = IMAGE_BILINEAR2;
    p->as_stored = p->luma = true;
    snprintf(normalisation->name, sizeof normalisation->name, "%s", name ? name : "");
    if (!parse_triple(safetensors_metadata(file, "tinca.mean"), normalisation->mean))
        return network_refuse_metadata(file, "tinca.mean", N_("is not three numbers"), error);
    if (!parse_triple(safetensors_metadata(file, "tinca.deviation"), normalisation->deviation))
        return network_refuse_metadata(file, "tinca.deviation", N_("is not three numbers"), error);
    for (size_t c = 0; c < 3; c++)
        if (normalisation->deviation[c] == 0)
            return network_refuse_metadata(file, "tinca.deviation", N_("holds a zero"), error);
    if (!stored || sscanf(stored, "%zu %zu", &p->stored_height, &p->stored_width) != 2 ||
        p->stored_height < p->height || p->stored_width < p->width ||
        p->stored_height > IMAGE_MAX_SIDE || p->stored_width > IMAGE_MAX_SIDE)
        return network_refuse_metadata(file, "tinca.stored", N_("is not a height and a width"),
                                       error);
    return true;
}

/* Reads the preprocessing of a network with this input; `classes` 0: it makes pictures. */
static bool read_preprocessing(struct preprocessing *p, const struct safetensors *file,
                               struct shape input, size_t classes, struct error *error)
{
    const char *text = safetensors_metadata(file, MODEL_PREPROCESSING_KEY), *what;
    *p = (struct preprocessing){
        .channels = input.channels, .height = input.height, .width = input.width};
    if (!text)
        return read_earlier(p, file, error);
    p->stretched = classes == 0;
    return preprocessing_parse(p, text, &what) ||
           error_set(error, ERROR_INPUT, file->path,
                     "use a file that tinca train --save has written",
                     "its metadata %s has no valid member \"%s\"", MODEL_PREPROCESSING_KEY, what);
}

/* Returns the number of classes that the file states. In a file of an earlier version it can be
 * less than the network has outputs: those of the data that it was trained on. */
static size_t stated_classes(const struct safetensors *file)
{
    const char *text = safetensors_metadata(file, "tinca.classes");
    size_t classes = 0;
    return text && text_to_size(text, &classes) ? classes : 0;
}

bool model_describe_classes(struct model *model, const struct safetensors *file,
                            struct error *error)
{
    const char *text = safetensors_metadata(file, "tinca.class_names");
    struct json_document document = {0};
    size_t count = model->network->classes, i = 0;
    if (!text || !json_parse(&document, text, strlen(text), file->path, NULL))
        return network_refuse_metadata(file, "tinca.class_names", N_("is not a list"), error);
    model->class_names = memory_new(count, sizeof *model->class_names, "class names", error);
    const struct json *name = model->class_names ? json_first(document.root) : NULL;
    for (; i < count && json_string(name); i++, name = json_next(name))
        snprintf(model->class_names[i], sizeof model->class_names[i], "%s", json_string(name));
    json_document_free(&document);
    if (!model->class_names)
        return false;
    if (i < count && i > 0 && i == stated_classes(file))
        for (; i < count; i++)
            snprintf(model->class_names[i], sizeof model->class_names[i], "%zu", i);
    return i == count || network_refuse_metadata(file, "tinca.class_names",
                                                 N_("does not name every class"), error);
}

/* Copies a checksum of the metadata; "" if it is missing or too long. */
static void copy_checksum(const struct safetensors *file, const char *key,
                          char checksum[MODEL_CHECKSUM])
{
    const char *text = safetensors_metadata(file, key);
    snprintf(checksum, MODEL_CHECKSUM, "%s", text && strlen(text) < MODEL_CHECKSUM ? text : "");
}

bool model_describe(struct model *model, const struct safetensors *file, struct error *error)
{
    const struct network *network = model->network = network_of_model(file, error);
    const bool described =
        network &&
        read_preprocessing(&model->preprocessing, file, network->input, network->classes, error) &&
        model_describe_classes(model, file, error);
    copy_checksum(file, "tinca.crc32", model->checksum);
    copy_checksum(file, "tinca.parent", model->parent);
    return described;
}

bool model_file_describe(struct model *model, const char *path, struct error *error)
{
    struct safetensors file;
    if (!safetensors_open(&file, path, error))
        return false;
    const bool described = model_describe(model, &file, error);
    safetensors_close(&file);
    return described;
}

bool model_file_preprocessing(struct preprocessing *preprocessing, const char *path,
                              struct error *error)
{
    struct safetensors file;
    struct shape input;
    size_t classes;
    if (!safetensors_open(&file, path, error))
        return false;
    const bool read = network_head_of_model(&file, &input, &classes, error) &&
                      read_preprocessing(preprocessing, &file, input, classes, error);
    safetensors_close(&file);
    return read;
}

bool model_compute_in(struct model *model, enum device_precision precision, struct error *error)
{
    return device_set_precision(model->device, precision, error) &&
           (precision == PRECISION_INT8 || network_simulate(model->network, error));
}

enum device_precision model_own_precision(const struct model *model)
{
    /* a quantized model is made for int8; devices that have none round in float32 */
    return graph_is_quantized(&model->network->graph) &&
                   device_check_precision(model->device->driver, PRECISION_INT8, NULL)
               ? PRECISION_INT8
               : model->device->precision;
}
