/* The record in data.json is that of the models that the run saves (preprocessing_to_json). A model
 * without a record prepares pictures by bilinear2, which the record says, too. */
#include "models/saved/run_preprocessing.h"

#include "engine/network/network.h"
#include "models/saved/model_file.h"
#include "runs/folder/run_json.h"
#include "runs/settings/settings.h"

#include <stdio.h>
#include <string.h>

static const char record_key[] = "preprocessing";

/* --- a new run --- */

/* Takes the preprocessing of the model in a file. Returns false if `path` is empty or the file is
 * no model of tinca; its reader reports that error later. */
static bool follow(struct run_preprocessing *from, const char *path)
{
    struct preprocessing of_model;
    if (!path || !path[0] || !model_file_preprocessing(&of_model, path, NULL))
        return false;
    from->model = from->given = of_model;
    snprintf(from->path, sizeof from->path, "%s", path);
    return true;
}

/* Applies the setting filter. */
static void apply_filter(struct run_preprocessing *from, const struct run_config *config)
{
    struct preprocessing *given = &from->given;
    enum image_filter filter;
    if (!image_filter_parse(data_settings(config).filter, &filter))
        return;
    if (filter == IMAGE_BILINEAR2) { /* earlier versions followed only a teacher's normalisation */
        struct preprocessing earlier = {.filter = filter, .as_stored = true, .luma = true};
        if (training_settings(config).teacher[0])
            earlier.normalisation = given->normalisation;
        *given = earlier;
        return;
    }
    given->filter = filter;
    given->as_stored &= given->recorded;
    given->recorded = true;
}

struct run_preprocessing run_preprocessing_of(const struct run_config *config, const char *ancestor)
{
    struct run_preprocessing from = {.given = {.recorded = true}};
    const struct training_settings training = training_settings(config);
    const char *weights = ancestor ? ancestor : training.weights;
    const char *network = network_settings(config).network;
    if (!network_is_model(network))
        network = NULL;
    if (!follow(&from, training.teacher) && !follow(&from, weights))
        follow(&from, network);
    apply_filter(&from, config);
    return from;
}

/* --- a resumed run --- */

bool run_preprocessing_record(const struct preprocessing *preprocessing, struct json *tree)
{
    struct json *object = json_add_object(tree, record_key);
    return preprocessing_to_json(preprocessing, object) &&
           (preprocessing->recorded || json_add_bool(object, "recorded", false));
}

/* Reads the size of the network's input. */
static bool read_crop(struct preprocessing *p, const struct json *object)
{
    const struct json *height = json_first(json_member(object, "crop"));
    return json_count(json_member(object, "channels"), &p->channels) &&
           json_count(height, &p->height) && json_count(json_next(height), &p->width);
}

static bool read_record(struct run_preprocessing *from, const char *directory)
{
    struct json_document document;
    struct preprocessing *p = &from->given;
    const char *what;
    bool recorded;
    if (!run_json_open(&document, directory, "data.json", JSON_MAX_BYTES, NULL, NULL))
        return false;
    const struct json *object = json_member(document.root, record_key);
    from->recorded =
        json_is_object(object) && read_crop(p, object) && preprocessing_from_json(p, object, &what);
    if (from->recorded && json_bool(json_member(object, "recorded"), &recorded))
        p->recorded = recorded;
    json_document_free(&document);
    return from->recorded;
}

struct run_preprocessing run_preprocessing_again(const struct run_config *config,
                                                 const char *directory)
{
    struct run_preprocessing from = {0};
    struct run_config earlier = *config;
    if (read_record(&from, directory)) {
        apply_filter(&from, config); /* a run whose setting has changed is refused */
        return from;
    }
    config_put(&earlier, KEY(weights), "", NULL);
    from = run_preprocessing_of(&earlier, NULL);
    from.given.luma = true;
    return from;
}

/* --- comparing --- */

bool run_preprocessing_same(const struct preprocessing *a, const struct preprocessing *b,
                            bool fixed)
{
    return normalisation_same(&a->normalisation, &b->normalisation, a->channels) &&
           a->channels == b->channels &&
           (fixed || (a->filter == b->filter && a->as_stored == b->as_stored));
}

char *run_preprocessing_words(const struct preprocessing *p, bool fixed, char *text, size_t size)
{
    char pictures[64] = "";
    if (!fixed)
        snprintf(pictures, sizeof pictures, "filter=%s, orient=%s, ", image_filter_names[p->filter],
                 p->as_stored ? "no" : "yes");
    snprintf(text, size, "%snormalisation \"%s\"", pictures, p->normalisation.name);
    return text;
}
