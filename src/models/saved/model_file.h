/* model_file.h: the metadata of a saved model.
 *
 * The metadata of the safetensors file has everything that eval and predict need besides the
 * values, and nothing that differs between two equal runs (no date, no ID, no number of threads):
 *
 *     tinca.network         the network's name         tinca.network_text   the text of its file
 *     tinca.technique       none, dsc, ...             tinca.classes        a number
 *     tinca.groups, tinca.width_rate, tinca.block_rate   of the technique; 0: none
 *     tinca.widths, tinca.activation   if the network does not fix them; else empty or absent
 *     tinca.preprocessing   from picture to input (preprocessing.h), a JSON object; absent from
 *                           models that prepare pictures by bilinear2, as earlier versions did
 *     and of this again, for earlier versions:
 *     tinca.normalisation   its name                   tinca.mean, tinca.deviation   three numbers
 *     tinca.stored          height and width of images before the crop
 *     tinca.class_names     a JSON list of texts
 *     tinca.quantization    of a quantized model: the report of tinca quantize, a JSON object
 *     tinca.record          of a model from an ONNX file: how it was trained, if the file says so
 *     tinca.parent          of a network with a chain of techniques after training: the checksum
 *                           (tinca.crc32) of the model to which the last one was applied, if known
 */
#ifndef TINCA_MODELS_SAVED_MODEL_FILE_H
#define TINCA_MODELS_SAVED_MODEL_FILE_H

#include "data/dataset/dataset.h"
#include "engine/network/network.h"
#include "engine/weights/weights.h"
#include "models/saved/evaluate.h"

#define MODEL_RECORD_KEY        "tinca.record"
#define MODEL_PREPROCESSING_KEY "tinca.preprocessing"

struct model_facts {
    const struct network *network;
    const struct dataset *dataset; /* class names */
    const struct model *origin;    /* or the model whose class names these are */
    struct preprocessing preprocessing;
    const char *quantization; /* how it was quantized, a text for tinca.quantization; or NULL */
    const char *record;       /* how it was trained, a text for tinca.record; or NULL */
    /* tinca.parent of a model without `origin`; NULL or "": not known */
    const char *parent;
};

/* Returns the checksum of the model that the last technique of a network's chain was applied to, if
 * the network's values come from `source`: source itself if the network has another name, or else
 * what it was made from. "": not known, or the network has no chain. */
const char *model_parent(const struct network *network, const struct model *source);

/* Returns the preprocessing of a network that another program has trained, without normalisation:
 * pictures are resized to its input. */
struct preprocessing model_preprocessing(const struct network *network);

/* Returns the names of the classes as a JSON list, the text of tinca.class_names, which the caller
 * frees; NULL with an error. */
char *model_print_class_names(const struct model_facts *facts, struct error *error);

/* Saves a model, with weights in this format. Returns false with an error. */
bool model_file_save(const struct model_facts *facts, const struct weights *weights,
                     enum weights_format format, const char *path, struct error *error);

/* Saves a model that was made from another one, `origin`, with its preprocessing and class
 * names. The network must have as many classes. Returns false with an error; an existing
 * file is then as it was. */
bool model_save_derived(const struct model *origin, const struct network *network,
                        const struct weights *weights, enum weights_format format, const char *path,
                        struct error *error);

/* Fills network, preprocessing and class names of `model` from a file's metadata. */
bool model_file_describe(struct model *model, const char *path, struct error *error);

/* Reads only how a model prepares pictures, without building its network. Returns false with an
 * error. */
bool model_file_preprocessing(struct preprocessing *preprocessing, const char *path,
                              struct error *error);

/* Reads only the class names of an open file, a model or a checkpoint, for a model that has its
 * network. Returns false with an error if it does not name every class. */
bool model_describe_classes(struct model *model, const struct safetensors *file,
                            struct error *error);

/* Does the same as model_file_describe with an open file. */
bool model_describe(struct model *model, const struct safetensors *file, struct error *error);

/* Returns the precision in which the model is computed unless another one is asked for: int8 if it
 * is quantized and its device computes in int8, else that of the device. */
enum device_precision model_own_precision(const struct model *model);

#endif
