/* Makes the pictures of a run. All pairs of its validation data are computed in order, because the
 * generator's noise depends on a pair's number, and the chosen ones are stored. */
#include "base/files/file.h"
#include "base/memory.h"
#include "data/loader/data_loader.h"
#include "models/saved/evaluate.h"
#include "models/saved/samples.h"
#include "runs/record/run_open.h"
#include "runs/settings/config_data.h"
#include "runs/settings/settings.h"
#include "studies/pictures/study_pictures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct maker {
    char spec[CONFIG_SPEC]; /* where the measured data is written */
    struct study_pictures *pictures;
    struct study *study;
    const struct run *run;
    const struct study_run_request *request;
    struct model model;
    struct dataset *dataset;
};

static struct shape output_shape(const struct network *network)
{
    return network->graph.nodes[network->graph.output].output;
}

/* --- opening --- */

static bool check_network(const struct network *network, struct error *error)
{
    const struct shape in = network->input, out = output_shape(network);
    if (network->classes == 0 && (out.channels == 1 || out.channels == 3) &&
        out.height == in.height && out.width == in.width)
        return true;
    return error_set(error, ERROR_INPUT, network->name,
                     "name a run of pix2pix, or give --real and --generated",
                     network->classes ? "this network predicts classes; it makes no pictures"
                                      : "its output is no picture of its input's size");
}

static bool load_model(struct maker *maker, struct error *error)
{
    const char *directory = run_facts(maker->run)->directory;
    const char *device = maker->request->device;
    if (!run_trained_by_tinca(run_facts(maker->run)->imported, run_facts(maker->run)->id, error))
        return false;
    char *path = file_join(directory, "weights.safetensors");
    bool loaded = path || error_set_memory(error, "a path", 0);
    if (loaded && !file_exists(path))
        loaded = error_set(error, ERROR_INPUT, directory, "let the run end, or train again",
                           "this run has saved no weights");
    loaded = loaded &&
             model_load(&maker->model, path,
                        device ? device : machine_settings(run_config(maker->run)).device,
                        maker->request->threads, error) &&
             check_network(maker->model.network, error);
    free(path);
    return loaded;
}

static const char *spec_of(struct maker *maker)
{
    return maker->request->data ? maker->request->data
                                : config_measured_spec(run_config(maker->run), maker->spec);
}

static bool open_data(struct maker *maker, struct error *error)
{
    const struct shape input = maker->model.network->input;
    const struct dataset_request wish = {input.channels, input.height, input.width};
    maker->dataset =
        dataset_open_as(spec_of(maker), "test", &wish, &maker->model.preprocessing, error);
    if (!maker->dataset)
        return false;
    return dataset_facts(maker->dataset)->paired ||
           error_set(error, ERROR_INPUT, spec_of(maker), "name pairs:DIR or maps",
                     "its examples are not pairs of pictures");
}

/* --- choosing --- */

static bool choose(struct maker *maker, struct error *error)
{
    const size_t pairs = dataset_facts(maker->dataset)->images;
    uint32_t *scenes = memory_new(pairs, sizeof *scenes, "the scenes", error);
    if (!scenes)
        return false;
    for (size_t i = 0; i < pairs; i++)
        scenes[i] = (uint32_t)i;
    const struct study_pool pool = {scenes, scenes, pairs, pairs};
    bool chosen = study_choose(maker->study, &pool, maker->request->wanted, error);
    free(scenes);
    for (size_t i = 0; chosen && i < maker->study->count; i++) {
        char origin[1024];
        struct study_image *image = &maker->study->images[i];
        dataset_origin(maker->dataset, image->source, origin, sizeof origin);
        snprintf(image->name, sizeof image->name, "%.159s", file_base_name(origin));
    }
    return chosen;
}

static bool holds(const struct dataset *dataset, const char *origin)
{
    char other[1024];
    for (size_t i = 0; i < dataset_facts(dataset)->images; i++) {
        dataset_origin(dataset, i, other, sizeof other);
        if (strcmp(other, origin) == 0)
            return true;
    }
    return false;
}

/* Counts the chosen pictures that were in the training data, since a generator may have memorised
 * them. If the training data cannot be opened, nothing is known about that. */
static void compare_with_training(struct maker *maker)
{
    struct study *study = maker->study;
    const struct shape input = maker->model.network->input;
    const struct dataset_request wish = {input.channels, input.height, input.width};
    char spec[CONFIG_SPEC];
    struct dataset *training =
        dataset_open(config_training_spec(run_config(maker->run), spec), "train", &wish, NULL);
    study->training_known = training;
    for (size_t i = 0; training && i < study->count; i++) {
        char origin[1024];
        dataset_origin(maker->dataset, study->images[i].source, origin, sizeof origin);
        study->seen_in_training += study->images[i].generated && holds(training, origin);
    }
    dataset_free(training);
}

/* --- making --- */

static bool make_picture(struct maker *maker, size_t index, const struct data_batch *batch,
                         struct error *error)
{
    const struct study_image *wanted = &maker->study->images[index];
    struct image *picture = &maker->pictures->images[index];
    const struct shape shape = output_shape(maker->model.network);
    const float *values = wanted->generated
                              ? model_infer(&maker->model, batch->images, wanted->source, error)
                              : batch->targets;
    if (!values || !image_create(picture, shape.width, shape.height, 3, error))
        return false;
    picture_paste(picture, 0, 0, &maker->model.preprocessing.normalisation, shape, values);
    return true;
}

static bool report_progress(const struct maker *maker, size_t made, struct error *error)
{
    const struct study_run_request *request = maker->request;
    return !request->progress ||
           request->progress(request->context, made, maker->study->count, error);
}

static bool make_pictures(struct maker *maker, struct data_loader *loader, struct error *error)
{
    struct data_batch batch;
    size_t made = 0;
    for (size_t pair = 0; made < maker->study->count; pair++) {
        if (!data_loader_next(loader, &batch, error))
            return false;
        for (size_t i = 0; i < maker->study->count; i++) {
            if (maker->study->images[i].source != pair)
                continue;
            if (!make_picture(maker, i, &batch, error) || !report_progress(maker, ++made, error))
                return false;
        }
    }
    return true;
}

static bool go_through_pairs(struct maker *maker, struct error *error)
{
    const struct data_loader_settings settings = {
        .batch = 1, .normalisation = maker->model.preprocessing.normalisation};
    struct data_loader *loader = data_loader_open(maker->dataset, &settings, error);
    bool made = loader && study_pictures_create(maker->pictures, maker->study, error) &&
                make_pictures(maker, loader, error);
    data_loader_free(loader);
    return made;
}

/* Describes the sources and hashes them. Pixels of generated pictures may differ in a bit between
 * two machines, so the hash covers the weights instead. */
static void describe(struct maker *maker)
{
    struct study *study = maker->study;
    const struct weights *weights = &maker->model.weights;
    uint64_t hash =
        study_hash(STUDY_HASH_BEGIN, weights->values, weights->graph->total_floats * sizeof(float));
    for (size_t i = 0; i < study->count; i++)
        if (!study->images[i].generated)
            hash = study_hash_image(hash, &maker->pictures->images[i]);
    study_set_fingerprint(study, hash);
    if (!study->network[0])
        snprintf(study->network, sizeof study->network, "%.*s", STUDY_NAME_SIZE - 1,
                 run_facts(maker->run)->network);
    snprintf(study->real, sizeof study->real, "targets of %.490s", spec_of(maker));
    snprintf(study->generated, sizeof study->generated,
             "run %s, weights.safetensors, on inputs of %.480s", run_facts(maker->run)->id,
             spec_of(maker));
}

bool study_pictures_of_run(struct study_pictures *pictures, struct study *study,
                           const struct run *run, const struct study_run_request *request,
                           struct error *error)
{
    struct maker maker = {.pictures = pictures, .study = study, .run = run, .request = request};
    *pictures = (struct study_pictures){0};
    bool made = load_model(&maker, error) && open_data(&maker, error) && choose(&maker, error) &&
                go_through_pairs(&maker, error);
    if (made) {
        compare_with_training(&maker);
        describe(&maker);
    } else
        study_pictures_free(pictures);
    dataset_free(maker.dataset);
    model_free(&maker.model);
    return made;
}

/* --- in the background --- */

static bool work(void *subject, struct background_job *background_job, struct error *error)
{
    struct study_job *job = subject;
    const struct study_run_request request = {.device = "cpu",
                                              .threads = job->threads,
                                              .wanted = job->wanted,
                                              .progress = background_job_progress,
                                              .context = background_job};
    struct run *run = run_open(job->directory, error);
    bool made = run && study_pictures_of_run(&job->pictures, &job->study, run, &request, error);
    run_free(run);
    return made;
}

struct background_job *study_pictures_start(struct study_job *job, struct error *error)
{
    return background_job_start(work, job, error);
}
