/* tinca datasets: lists the kinds of data sets and the built-in ones, or describes a set. */
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"

#include "base/language.h"

#include "data/dataset/dataset.h"

#include <stdio.h>
#include <stdlib.h>

static bool add_json(struct json *list, const struct dataset_kind *kind)
{
    struct json *object = json_add_object(list, NULL);
    return json_add_string(object, "name", kind->name) &&
           json_add_string(object, "argument", kind->argument) &&
           json_add_string(object, "description", kind->description) &&
           json_add_count(object, "classes", kind->classes) &&
           output_add_shape(object, "input",
                            (struct shape){kind->channels, kind->height, kind->width});
}

static int print_json(const struct dataset_kind *kinds, size_t count)
{
    struct json *root = json_new_object(), *list = json_add_array(root, "datasets");
    bool complete = list;
    for (size_t i = 0; i < count; i++)
        complete = complete && add_json(list, &kinds[i]);
    return output_json(root, complete);
}

static int print_table(const struct dataset_kind *kinds, size_t count)
{
    struct table table = table_begin("lrrl", _("SPEC|IMAGES|CLASSES|WHAT"));
    for (size_t i = 0; i < count; i++) {
        const struct dataset_kind *kind = &kinds[i];
        table_cell(&table, "%s%s%s", kind->name, kind->argument[0] ? ":" : "", kind->argument);
        if (kind->height)
            table_cell(&table, "%zux%zux%zu", kind->channels, kind->height, kind->width);
        else
            table_cell(&table, "%s", _("fitted"));
        table_cell(&table, kind->classes ? "%zu" : "-", kind->classes);
        table_cell(&table, "%s", gettext(kind->description));
    }
    return output_table(&table);
}

/* --- one set --- */

static bool describe_json(const struct dataset *dataset, const struct dataset_balance *balance,
                          struct json *root)
{
    const struct dataset_facts *facts = dataset_facts(dataset);
    bool added = json_add_string(root, "data", facts->spec) &&
                 json_add_string(root, "kind", facts->kind) &&
                 json_add_count(root, "images", facts->images) &&
                 json_add_count(root, "left_out", facts->skipped);
    struct json *classes = json_add_array(root, "classes");
    for (size_t i = 0; added && !facts->paired && i < facts->classes; i++) {
        struct json *row = json_add_object(classes, NULL);
        added = json_add_string(row, "name", dataset_class_name(dataset, i)) &&
                json_add_count(row, "images", balance->images[i]);
    }
    struct json *broken = json_add_array(root, "broken");
    for (size_t i = 0; added && facts->broken && i < facts->broken->named; i++) {
        struct json *row = json_add_object(broken, NULL);
        added = json_add_string(row, "file", facts->broken->file[i].path) &&
                json_add_string(row, "why", facts->broken->file[i].why);
    }
    return added && classes && broken;
}

static int print_classes(const struct dataset *dataset, const struct dataset_balance *balance)
{
    struct table table = table_begin("rlrr", _("#|CLASS|IMAGES|SHARE"));
    const size_t images = dataset_facts(dataset)->images;
    for (size_t i = 0; i < balance->classes; i++) {
        table_cell(&table, "%zu", i);
        table_cell(&table, "%s", dataset_class_name(dataset, i));
        table_cell(&table, "%zu", balance->images[i]);
        table_cell(&table, "%.2f %%", 100 * (double)balance->images[i] / (double)images);
    }
    return output_table(&table);
}

static int describe_text(const struct dataset *dataset, const struct dataset_balance *balance)
{
    const struct dataset_facts *facts = dataset_facts(dataset);
    int status = EXIT_DONE;
    output_print(ngettext("%s: %zu image\n", "%s: %zu images\n", facts->images), facts->spec,
                 facts->images);
    if (!facts->paired)
        status = print_classes(dataset, balance);
    if (!facts->paired && balance->empty > 0)
        output_print(
            ngettext("%zu class has no image\n", "%zu classes have no image\n", balance->empty),
            balance->empty);
    else if (!facts->paired && balance->most > balance->least)
        output_print(_("the largest class has %.3g times as many images as the smallest\n"),
                     (double)balance->most / (double)balance->least);
    if (facts->skipped > 0)
        output_print(ngettext("%zu picture cannot be read and is left out:\n",
                              "%zu pictures cannot be read and are left out:\n", facts->skipped),
                     facts->skipped);
    for (size_t i = 0; facts->broken && i < facts->broken->named; i++)
        output_print("  %s: %s\n", facts->broken->file[i].path, facts->broken->file[i].why);
    return status;
}

static int describe(const char *spec, bool as_json)
{
    struct error error;
    struct dataset_balance balance = {0};
    struct dataset *dataset = dataset_open(spec, "train", NULL, &error);
    int status;
    if (!dataset || !dataset_count_classes(dataset, &balance, &error)) {
        status = output_error(&error);
    } else if (as_json) {
        struct json *root = json_new_object();
        status = output_json(root, describe_json(dataset, &balance, root));
    } else {
        status = describe_text(dataset, &balance);
    }
    free(balance.images);
    dataset_free(dataset);
    return status;
}

static int datasets_run(const struct command *command, int argc, char **argv)
{
    bool as_json = false;
    struct operands operands;
    size_t count;
    int status;
    const struct option_row rows[] = {OUTPUT_JSON_OPTION(&as_json), {0}};
    if (!options_read(command, &(struct option_set){.rows = rows, .operands_max = 1}, argc, argv,
                      &operands, &status))
        return status;
    if (operands.count > 0)
        return describe(operands.values[0], as_json);
    const struct dataset_kind *kinds = dataset_kinds(&count);
    if (as_json)
        return print_json(kinds, count);
    status = print_table(kinds, count);
    output_print("\n%s\n%s\n",
                 _("Options follow after commas: split=train|test, limit=N, sample=N, only=CLASS, "
                   "classes=N, share=F, rest=F, draw=SEED."),
                 _("For example: tinca train lenet --data digits,validate=0.1 --test auto"));
    return status;
}

const struct command command_datasets = {
    .name = "datasets",
    .operands = "[SPEC]",
    .summary = N_("List the kinds of data sets, or describe one set."),
    .details =
        N_("With a SPEC: how many images each class has, and which pictures cannot be read and "
           "are left out, with the reasons."),
    .run = datasets_run,
};
