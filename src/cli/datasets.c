/* tinca datasets: lists the kinds of data sets and the built-in ones. */
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"

#include "base/language.h"

#include "data/dataset/dataset.h"

#include <stdio.h>

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
        if (kind->classes)
            table_cell(&table, "%zu", kind->classes);
        else
            table_cell(&table, "-");
        table_cell(&table, "%s", gettext(kind->description));
    }
    return table_print(&table);
}

static int datasets_run(const struct command *command, int argc, char **argv)
{
    bool as_json = false;
    struct operands operands;
    size_t count;
    int status;
    const struct option_row rows[] = {OUTPUT_JSON_OPTION(&as_json), {0}};
    if (!options_read(command, &(struct option_set){.rows = rows}, argc, argv, &operands, &status))
        return status;
    const struct dataset_kind *kinds = dataset_kinds(&count);
    if (as_json)
        return print_json(kinds, count);
    status = print_table(kinds, count);
    output_print("\n%s\n%s\n",
                 _("Options follow after commas: split=train|test, limit=N, sample=N, only=CLASS, "
                   "classes=N."),
                 _("For example: tinca train lenet --data digits,limit=2000 --validate "
                   "digits,split=test"));
    return status;
}

const struct command command_datasets = {
    .name = "datasets",
    .operands = "",
    .summary = N_("List the kinds of data sets and the built-in ones."),
    .details = "",
    .run = datasets_run,
};
