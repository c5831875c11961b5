/* A model goes with how it was trained: the record of its run. */
#include "exchange/frame/exporter.h"

#include "base/json/json.h"
#include "runs/folder/run_files.h"
#include "runs/record/run.h"
#include "runs/settings/config_data.h"

bool exporter_open(struct exporter_model *exported, const struct model_export *export,
                   const struct model_use *use, struct error *error)
{
    struct model *model = &exported->model;
    *exported = (struct exporter_model){0};
    if (!safetensors_open(&exported->file, export->model, error))
        return false;
    exported->format = export->format_given ? export->format : weights_format_of(&exported->file);
    return model_file_describe(model, export->model, error) &&
           model_check_memory(model->network, use, export->model, error) &&
           weights_create(&model->weights, &model->network->graph, error) &&
           weights_load(&model->weights, export->model, error);
}

void exporter_close(struct exporter_model *exported)
{
    safetensors_close(&exported->file);
    model_free(&exported->model);
}

/* --- the record --- */

static bool add_validation(struct json *root, const struct run_snapshot *snapshot)
{
    if (!snapshot->validation.known)
        return true;
    struct json *tree = json_add_object(root, "validation");
    return json_add_number(tree, "loss", snapshot->validation.loss) &&
           json_add_number(tree, "top1", snapshot->validation.top1) &&
           json_add_number(tree, "top5", snapshot->validation.top5) &&
           json_add_number(tree, "best_top1", snapshot->validation.best_top1);
}

/* Adds the result on the test set. */
static bool add_test(struct json *root, const struct run_config *config,
                     const struct run_test *test)
{
    char spec[CONFIG_SPEC];
    if (test->images == 0)
        return true;
    struct json *tree = json_add_object(root, "test");
    return json_add_string(tree, "data", config_test_spec(config, spec)) &&
           run_files_add_test(tree, test);
}

char *model_record(const struct run *run, struct error *error)
{
    const struct run_facts *facts = run_facts(run);
    struct run_snapshot snapshot;
    struct json *root = json_new_object();
    run_snapshot(run, &snapshot);
    const bool added = json_add_string(root, "run", facts->id) &&
                       json_add_string(root, "created", facts->created) &&
                       json_add_string(root, "network", facts->network) &&
                       json_add_count(root, "parameters", facts->parameters) &&
                       json_add_count(root, "images", facts->images) &&
                       json_add_string(root, "status", run_status_name(snapshot.status)) &&
                       json_add_count(root, "iterations", snapshot.iteration) &&
                       json_add_number(root, "epochs", snapshot.epoch) &&
                       json_add_float(root, "loss", snapshot.loss) &&
                       add_validation(root, &snapshot) &&
                       add_test(root, run_config(run), &snapshot.test) &&
                       config_to_json(run_config(run), json_add_object(root, "config"));
    char *text = added ? json_print(root, false, error) : NULL;
    if (!added)
        error_set_memory(error, "the record of the run", 0);
    json_free(root);
    return text;
}
