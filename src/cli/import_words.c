#include "cli/import_words.h"

#include "cli/output.h"
#include "runs/values/scalars.h"

const char *const import_devices[] = {"cpu", "cuda", NULL};

struct json *import_words_add(struct json *list, const struct import_result *result,
                              const char *path)
{
    struct json *object = json_add_object(list, NULL);
    const bool added =
        (result->id[0] ? json_add_string(object, "id", result->id) : json_add_null(object, "id")) &&
        json_add_string(object, "file", path) &&
        json_add_string(object, "framework", result->framework) &&
        json_add_count(object, "iterations", result->iterations) &&
        json_add_count(object, "validations", result->validations) &&
        json_add_count(object, "damaged_lines", result->notes.damaged) &&
        json_add_count(object, "replaced", result->notes.replaced) &&
        json_add_count(object, "values_left_out", result->notes.others_lost);
    return added ? object : NULL;
}

void import_words_print(const char *path, const struct import_result *result)
{
    const struct import_notes *notes = &result->notes;
    if (result->id[0])
        output_print(ngettext("%s: %s, %llu point from %s\n", "%s: %s, %llu points from %s\n",
                              result->iterations),
                     result->id, result->framework, (unsigned long long)result->iterations, path);
    if (notes->damaged)
        output_note(ngettext("tinca: %s: %zu damaged line was left out\n",
                             "tinca: %s: %zu damaged lines were left out\n", notes->damaged),
                    path, notes->damaged);
    if (notes->replaced)
        output_note(
            ngettext("tinca: %s: %zu iteration is there twice; the later one was taken\n",
                     "tinca: %s: %zu iterations are there twice; the later ones were taken\n",
                     notes->replaced),
            path, notes->replaced);
    if (notes->others_lost)
        output_note(
            ngettext("tinca: %s: %zu value of another name was left out: a run keeps %d names "
                     "and %d values\n",
                     "tinca: %s: %zu values of other names were left out: a run keeps %d "
                     "names and %d values\n",
                     notes->others_lost),
            path, notes->others_lost, SCALARS_NAMES_MOST, SCALARS_MOST);
    if (notes->several_top1)
        output_note(_("tinca: %s: of several accuracies %s was taken; --columns top1=NAME takes "
                      "another\n"),
                    path, notes->top1_name);
    if (notes->left_out[0])
        output_note(_("tinca: %s: %s is an accuracy of the training, which runs do not have; "
                      "--columns top1=%s takes it as that of a validation\n"),
                    path, notes->left_out, notes->left_out);
}
