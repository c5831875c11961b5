/* Solver files. What decides the training and has no equal in tinca is an error, so that no run
 * differs silently from the one that the file describes; fields about the network's files, tests,
 * snapshots and messages are listed as left out. What a file leaves out has Caffe's default. */
#include "exchange/caffe/caffe.h"
#include "exchange/caffe/internal.h"

#include "base/language.h"

#include <stdio.h>
#include <string.h>

struct reading {
    const char *path;
    struct caffe_tree tree;
    struct caffe_solver *solver;
    struct error *error;
};

static bool refuse(const struct reading *reading, const char *what, const char *why)
{
    const struct caffe_field *field = caffe_first(&reading->tree.root, what);
    char place[64];
    snprintf(place, sizeof place, "%.40s", what);
    return error_set(reading->error, ERROR_UNSUPPORTED, reading->path, NULL, "line %zu: %s: %s",
                     field ? field->line : 1, place, gettext(why));
}

static void add(struct reading *reading, const char *key, const char *value)
{
    struct caffe_solver *solver = reading->solver;
    if (solver->count == CAFFE_MAX_SETTINGS)
        return;
    snprintf(solver->settings[solver->count].key, sizeof solver->settings->key, "%s", key);
    snprintf(solver->settings[solver->count].value, sizeof solver->settings->value, "%s", value);
    solver->count++;
}

/* Reads a number into *number; without the field, `otherwise`. Returns false with an error. */
static bool get(struct reading *reading, const char *name, double otherwise, double *number)
{
    const struct caffe_field *field = caffe_first(&reading->tree.root, name);
    *number = otherwise;
    return !field || caffe_read_number(field, number) ||
           refuse(reading, name, N_("a number was expected"));
}

/* Adds a setting with the number of a field. */
static bool add_number(struct reading *reading, const char *key, const char *name, double otherwise)
{
    char text[32];
    double number;
    if (!get(reading, name, otherwise, &number))
        return false;
    snprintf(text, sizeof text, "%.9g", number);
    add(reading, key, text);
    return true;
}

static bool has(const struct reading *reading, const char *name)
{
    return caffe_first(&reading->tree.root, name);
}

/* --- solver --- */

static bool read_type(struct reading *reading)
{
    static const char *const types[][3] = {
        {"SGD", "0", "sgd"},        {"Nesterov", "1", "nesterov"}, {"NESTEROV", "1", "nesterov"},
        {"Adam", "5", "adam"},      {"ADAM", "5", "adam"},         {"RMSProp", "3", "rmsprop"},
        {"RMSPROP", "3", "rmsprop"}};
    const char *name = has(reading, "type") ? "type" : "solver_type";
    const char *type = caffe_text(&reading->tree.root, name, "SGD");
    size_t i = 0;
    while (i < 7 && strcmp(type, types[i][0]) != 0 && strcmp(type, types[i][1]) != 0)
        i++;
    if (i == 7)
        return refuse(reading, name, N_("tinca has SGD, Nesterov, Adam and RMSProp"));
    const char *solver = types[i][2];
    add(reading, KEY(solver), solver);
    if (strcmp(solver, "adam") == 0)
        return add_number(reading, KEY(beta2), "momentum2", 0.999) &&
               add_number(reading, KEY(epsilon), "delta", 1e-8);
    if (strcmp(solver, "rmsprop") == 0)
        return add_number(reading, KEY(beta2), "rms_decay", 0.99) &&
               add_number(reading, KEY(epsilon), "delta", 1e-8);
    return true;
}

/* Returns the distance of equal steps: every multiple of it before the end is a "stepvalue". */
static bool read_equal_steps(struct reading *reading, size_t *step)
{
    const struct caffe_field *root = &reading->tree.root;
    size_t value, count = 0, end = 0;
    const struct caffe_field *last = caffe_first(root, "max_iter");
    *step = 0;
    for (const struct caffe_field *f = caffe_first(root, "stepvalue"); f; f = caffe_next(f)) {
        if (!caffe_read_count(f, &value) || value == 0)
            return refuse(reading, "stepvalue", N_("a number was expected"));
        *step = *step ? *step : value;
        count++;
        if (value != count * *step)
            return refuse(reading, "stepvalue",
                          N_("tinca's schedule step has equal distances: N, 2N, 3N, ..."));
    }
    if (*step && last && caffe_read_count(last, &end) && (count + 1) * *step >= end)
        return true;
    return refuse(reading, "stepvalue",
                  N_("tinca's schedule step goes on to the end of the run: the last steps are "
                     "missing here"));
}

static bool read_step(struct reading *reading, bool several)
{
    char text[32];
    size_t step = 0;
    const struct caffe_field *size = caffe_first(&reading->tree.root, "stepsize");
    if (several ? !read_equal_steps(reading, &step)
                : (!size || !caffe_read_count(size, &step) || step == 0) &&
                      !refuse(reading, "stepsize", N_("a number above 0 was expected")))
        return false;
    snprintf(text, sizeof text, "%zu", step);
    add(reading, KEY(schedule), "step");
    add(reading, KEY(step_size), text);
    return add_number(reading, KEY(gamma), "gamma", 0);
}

static bool read_policy(struct reading *reading)
{
    const char *policy = caffe_text(&reading->tree.root, "lr_policy", "");
    if (strcmp(policy, "fixed") == 0) {
        add(reading, KEY(schedule), "fixed");
        return true;
    }
    if (strcmp(policy, "step") == 0 || strcmp(policy, "multistep") == 0)
        return read_step(reading, policy[0] == 'm');
    if (strcmp(policy, "exp") == 0) {
        add(reading, KEY(schedule), "step");
        add(reading, KEY(step_size), "1");
        return add_number(reading, KEY(gamma), "gamma", 0);
    }
    if (strcmp(policy, "poly") == 0) {
        add(reading, KEY(schedule), "poly");
        return add_number(reading, KEY(power), "power", 0);
    }
    if (strcmp(policy, "inv") == 0) {
        add(reading, KEY(schedule), "inv");
        return add_number(reading, KEY(gamma), "gamma", 0) &&
               add_number(reading, KEY(power), "power", 0);
    }
    return refuse(reading, "lr_policy",
                  N_("tinca has fixed, step, multistep with equal distances, exp, inv and poly"));
}

/* --- the file --- */

static const char taken[] =
    " type solver_type momentum2 delta rms_decay lr_policy gamma power stepsize stepvalue base_lr "
    "momentum weight_decay max_iter iter_size average_loss clip_gradients random_seed "
    "regularization_type ";
static const char without_effect[] =
    " net net_param train_net test_net train_net_param test_net_param train_state test_state "
    "test_iter test_interval test_compute_loss test_initialization display snapshot "
    "snapshot_prefix snapshot_diff snapshot_format solver_mode device_id debug_info "
    "snapshot_after_train layer_wise_reduce weights ";

/* Lists the fields that are no settings, and refuses those that are unknown. */
static bool list_left_out(struct reading *reading)
{
    struct caffe_solver *solver = reading->solver;
    char word[64];
    for (const struct caffe_field *f = reading->tree.root.first; f; f = f->next) {
        bool again = false;
        snprintf(word, sizeof word, " %.60s ", f->name);
        if (strstr(taken, word))
            continue;
        if (!strstr(without_effect, word))
            return refuse(reading, f->name, N_("a solver of Caffe has no such field"));
        for (size_t i = 0; i < solver->left_out_count; i++)
            again |= strcmp(solver->left_out[i], f->name) == 0;
        if (!again && solver->left_out_count < CAFFE_MAX_LEFT_OUT)
            snprintf(solver->left_out[solver->left_out_count++], sizeof *solver->left_out, "%s",
                     f->name);
    }
    return true;
}

/* Reads what has an effect only if it is there. */
static bool read_extras(struct reading *reading)
{
    const struct caffe_field *root = &reading->tree.root;
    const char *regularization = caffe_text(root, "regularization_type", "L2");
    const struct caffe_field *size = caffe_first(root, "iter_size");
    double number;
    reading->solver->iter_size = 1;
    if (strcmp(regularization, "L2") != 0)
        return refuse(reading, "regularization_type", N_("tinca's weight decay is L2"));
    if (size &&
        (!caffe_read_count(size, &reading->solver->iter_size) || reading->solver->iter_size == 0))
        return refuse(reading, "iter_size", N_("a number above 0 was expected"));
    if (has(reading, "average_loss") && !add_number(reading, KEY(average_loss), "average_loss", 1))
        return false;
    if (!get(reading, "clip_gradients", -1, &number) ||
        (number > 0 && !add_number(reading, KEY(clip_norm), "clip_gradients", 0)))
        return false;
    return get(reading, "random_seed", -1, &number) &&
           (number < 0 || add_number(reading, KEY(seed), "random_seed", 0));
}

static bool read_solver(struct reading *reading)
{
    if (!has(reading, "base_lr"))
        return refuse(reading, "base_lr", N_("the file has no learning rate"));
    if (!list_left_out(reading) || !read_type(reading) ||
        !add_number(reading, KEY(learning_rate), "base_lr", 0) || !read_policy(reading) ||
        !add_number(reading, KEY(momentum), "momentum", 0) ||
        !add_number(reading, KEY(weight_decay), "weight_decay", 0))
        return false;
    return (!has(reading, "max_iter") || add_number(reading, KEY(iterations), "max_iter", 0)) &&
           read_extras(reading);
}

bool caffe_solver_read(const char *path, struct caffe_solver *solver, struct error *error)
{
    struct reading reading = {.path = path, .solver = solver, .error = error};
    *solver = (struct caffe_solver){0};
    const bool read = caffe_tree_read_text(&reading.tree, path, error) && read_solver(&reading);
    caffe_tree_free(&reading.tree);
    return read;
}

bool caffe_is_solver(const char *path)
{
    static const char *const names[] = {"base_lr", "lr_policy", "max_iter",
                                        "net",     "train_net", "solver_mode"};
    struct caffe_tree tree;
    struct error unused;
    bool found = false;
    const char *dot = strrchr(path, '.');
    if (!dot || strcmp(dot, ".prototxt") != 0)
        return false;
    if (caffe_tree_read_text(&tree, path, &unused)) {
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            found |= caffe_first(&tree.root, names[i]) != NULL;
        found &= !caffe_first(&tree.root, "layer") && !caffe_first(&tree.root, "layers");
    }
    caffe_tree_free(&tree);
    return found;
}

static bool add_json(const struct caffe_solver *solver, struct json *root)
{
    bool added = root && json_add_count(root, "iter_size", solver->iter_size);
    struct json *settings = json_add_object(root, "settings");
    for (size_t i = 0; i < solver->count; i++)
        added =
            json_add_string(settings, solver->settings[i].key, solver->settings[i].value) && added;
    struct json *list = json_add_array(root, "left_out");
    for (size_t i = 0; i < solver->left_out_count; i++)
        added = json_add_string(list, NULL, solver->left_out[i]) && added;
    return added && settings && list;
}

bool caffe_solver_report(const char *path, struct exchange_report *report, struct error *error)
{
    struct caffe_solver solver;
    if (!caffe_solver_read(path, &solver, error))
        return false;
    report->json = json_new_object();
    report->incomplete = !add_json(&solver, report->json);
    exchange_tell(&report->result, "tinca train NET --data SPEC");
    for (size_t i = 0; i < solver.count; i++)
        exchange_tell(&report->result, " --%s %s", solver.settings[i].key,
                      solver.settings[i].value);
    exchange_tell(&report->result, "\n");
    if (solver.iter_size > 1)
        exchange_tell(
            &report->notes,
            _("tinca: %s: iter_size %zu: give --batch %zu times the batch of Caffe's data "
              "layer\n"),
            path, solver.iter_size, solver.iter_size);
    for (size_t i = 0; i < solver.left_out_count; i++)
        exchange_tell(&report->notes,
                      _("tinca: %s: %s is no setting of a training, and was left out\n"), path,
                      solver.left_out[i]);
    return true;
}

bool caffe_solver_apply(const struct caffe_solver *solver, struct run_config *config,
                        struct error *error)
{
    const bool length = config_is_given(config, KEY(epochs));
    for (size_t i = 0; i < solver->count; i++) {
        const char *key = solver->settings[i].key;
        if (config_is_given(config, key) || (length && strcmp(key, KEY(iterations)) == 0))
            continue;
        if (!config_set(config, key, solver->settings[i].value, error))
            return false;
    }
    return true;
}
