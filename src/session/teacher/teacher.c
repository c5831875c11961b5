/* A teacher is a saved model, read as eval and predict read one, without a device of its own. */
#include "session/teacher/teacher.h"

#include "engine/weights/weights_match.h"
#include "session/config/settings.h"
#include "session/model/class_match.h"
#include "session/model/model_file.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { BLOCK = 1 << 16, TEACHER_NAME = 48 /* characters in a chain */ };

bool teacher_describe(struct teacher *teacher, const struct run_config *config, struct error *error)
{
    const struct training_settings training = training_settings(config);
    *teacher = (struct teacher){0};
    if (!model_file_describe(&teacher->model, training.teacher, error)) {
        teacher_free(teacher);
        return false;
    }
    teacher->settings = (struct distillation_settings){.teacher = &teacher->model.network->graph,
                                                       .temperature = (float)training.temperature,
                                                       .weight = (float)training.distill_weight};
    return true;
}

/* Computes size and checksum of the file. */
static bool read_checksum(struct teacher *teacher, const char *path, struct error *error)
{
    unsigned char block[BLOCK];
    size_t got;
    FILE *file = fopen(path, "rb");
    uLong sum = crc32_z(0, NULL, 0);
    teacher->bytes = 0;
    while (file && (got = fread(block, 1, sizeof block, file)) > 0) {
        sum = crc32_z(sum, block, got);
        teacher->bytes += got;
    }
    const bool read = file && !ferror(file);
    if (!read)
        error_set_errno(error, path, "check the file", "it cannot be read");
    if (file)
        fclose(file);
    teacher->crc32 = (uint32_t)sum;
    return read;
}

bool teacher_load(struct teacher *teacher, const struct run_config *config, struct error *error)
{
    const struct training_settings training = training_settings(config);
    return weights_create(&teacher->model.weights, &teacher->model.network->graph, error) &&
           weights_load(&teacher->model.weights, training.teacher, error) &&
           (!teacher->numbers ||
            weights_order_outputs(&teacher->model.weights, teacher->numbers, error)) &&
           read_checksum(teacher, training.teacher, error);
}

void teacher_free(struct teacher *teacher)
{
    model_free(&teacher->model);
    free(teacher->numbers);
    *teacher = (struct teacher){0};
}

bool teacher_suits(const struct teacher *teacher, const struct network *student,
                   struct error *error)
{
    const char *loss = network_class_loss(student);
    if (!loss)
        return error_set(error, ERROR_USAGE, OPTION(teacher), "train without it",
                         "%s has no loss over classes (softmax_cross_entropy)", student->name);
    if (!network_has_cross_entropy(student))
        return error_set(
            error, ERROR_USAGE, OPTION(teacher),
            "train without it, or a network whose loss is softmax_cross_entropy",
            "%s has the loss %s, which has no probabilities to compare with the teacher's",
            student->name, loss);
    return distillation_check(&student->graph, &teacher->model.network->graph, error);
}

bool teacher_knows_classes(struct teacher *teacher, const struct dataset *dataset,
                           struct error *error)
{
    struct error inner;
    return class_match_teacher(&teacher->model, dataset, &teacher->numbers, &inner) ||
           error_set(error, inner.kind, OPTION(teacher),
                     "choose a teacher that was trained on the same classes", "%s: %s", inner.what,
                     inner.why);
}

bool teacher_prepares_alike(const struct teacher *teacher, const struct preprocessing *student,
                            bool fixed, struct error *error)
{
    const struct preprocessing *own = &teacher->model.preprocessing;
    if (!normalisation_same(&own->normalisation, &student->normalisation, own->channels))
        return error_set(error, ERROR_USAGE, OPTION(normalise),
                         "leave it out: both then have the teacher's",
                         "the teacher was trained on other numbers (\"%s\") than the student "
                         "would get (\"%s\")",
                         own->normalisation.name, student->normalisation.name);
    return fixed || (own->filter == student->filter && own->as_stored == student->as_stored) ||
           error_set(
               error, ERROR_USAGE, OPTION(filter),
               "leave it out, and filter= and orient= of the data: both then have the "
               "teacher's",
               "the teacher was trained on pictures that are prepared by filter=%s,orient=%s, "
               "those of the student by filter=%s,orient=%s",
               image_filter_names[own->filter], own->as_stored ? "no" : "yes",
               image_filter_names[student->filter], student->as_stored ? "no" : "yes");
}

/* Writes the full name of the teacher's network without techniques after training. */
static char *name_of(const struct teacher *teacher, char *name, size_t size)
{
    network_full_name(teacher->model.network, name, size);
    name[strcspn(name, "+")] = '\0';
    return name;
}

char *teacher_step(const struct teacher *teacher, char *step, size_t size)
{
    char name[256];
    size_t length = 0, limit = TEACHER_NAME;
    name_of(teacher, name, sizeof name);
    for (size_t i = 0; name[i] && length < limit; i++)
        if (isalnum((unsigned char)name[i]) || strchr("-_.", name[i]))
            name[length++] = name[i];
        else if (length > 0 && name[length - 1] != '-') /* as in "resnet20-shuffle (4 groups)" */
            name[length++] = '-';
    while (length > 0 && name[length - 1] == '-')
        length--;
    name[length] = '\0';
    snprintf(step, size, "distill%s%s", length ? ":" : "", name);
    return step;
}

bool teacher_to_json(const struct teacher *teacher, struct json *tree)
{
    char name[256], sum[16];
    struct json *object = json_add_object(tree, "teacher");
    snprintf(sum, sizeof sum, "%08" PRIx32, teacher->crc32);
    return json_add_string(object, "name", name_of(teacher, name, sizeof name)) &&
           json_add_count(object, "bytes", teacher->bytes) && json_add_string(object, "crc32", sum);
}
