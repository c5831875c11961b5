/* Checks summary.json by itself; run_check_consistency.c compares it with the journal. */
#include "training/check/internal.h"

#include "base/language.h"
#include "runs/folder/run_files.h"

#include <stdlib.h>
#include <string.h>

enum { LIMIT = 1 << 20 };

enum member_kind { MEMBER_COUNT, MEMBER_NUMBER, MEMBER_OTHER };

static const struct member {
    const char *key;
    enum member_kind kind; /* a number may be null: unknown, NaN or infinite */
    bool required;
} members[] = {{"crc32", MEMBER_OTHER, false},
               {"format", MEMBER_OTHER, true},
               {"version", MEMBER_COUNT, true},
               {"status", MEMBER_OTHER, true},
               {"error", MEMBER_OTHER, true},
               {"iteration", MEMBER_COUNT, true},
               {"iterations", MEMBER_COUNT, true},
               {"memory_measured", MEMBER_COUNT, false},
               {"memory_highest", MEMBER_COUNT, false},
               {"begun_at", MEMBER_COUNT, false},
               {"checkpoints", MEMBER_COUNT, false},
               {"checkpoint_iteration", MEMBER_COUNT, false},
               {"epoch", MEMBER_NUMBER, true},
               {"epochs", MEMBER_NUMBER, true},
               {"loss_mean", MEMBER_NUMBER, true},
               {"learning_rate", MEMBER_NUMBER, true},
               {"loss_scale", MEMBER_NUMBER, false},
               {"skipped_steps", MEMBER_COUNT, false},
               {"ms_per_image_now", MEMBER_NUMBER, false},
               {"ms_per_image_median", MEMBER_NUMBER, false},
               {"images_per_second", MEMBER_NUMBER, false},
               {"elapsed_seconds", MEMBER_NUMBER, true},
               {"feed_wait_seconds", MEMBER_NUMBER, false},
               {"validation_loss", MEMBER_NUMBER, true},
               {"top1", MEMBER_NUMBER, true},
               {"top5", MEMBER_NUMBER, true},
               {"best_top1", MEMBER_NUMBER, true},
               {"best_validation_loss", MEMBER_NUMBER, false},
               {"pixel_accuracy", MEMBER_NUMBER, false},
               {"checkpoint_seconds", MEMBER_NUMBER, false},
               {"energy_joules", MEMBER_NUMBER, false},
               {"energy_seconds", MEMBER_NUMBER, false},
               {"energy_images", MEMBER_NUMBER, false},
               {"energy_unknown", MEMBER_OTHER, false},
               {"loss", MEMBER_NUMBER, true},
               {"loss_caffe", MEMBER_NUMBER, true},
               {"has_validation", MEMBER_OTHER, true},
               {"test", MEMBER_OTHER, false},
               {"ranks", MEMBER_OTHER, false},
               {"journal", MEMBER_COUNT, false},
               {"journal_sum", MEMBER_COUNT, false},
               {"journal_crc32", MEMBER_COUNT, false}};
enum { MEMBERS = sizeof members / sizeof *members };

static bool is_of_kind(const struct json *value, enum member_kind kind)
{
    double number;
    size_t count;
    switch (kind) {
    case MEMBER_COUNT:
        return json_count(value, &count);
    case MEMBER_NUMBER:
        return json_number(value, &number) || json_is_null(value);
    default:
        return true;
    }
}

static void inspect_members(struct check *check, const char *file, const struct json *tree)
{
    for (size_t i = 0; i < MEMBERS; i++) {
        const struct json *value = json_member(tree, members[i].key);
        if (value ? !is_of_kind(value, members[i].kind) : members[i].required)
            check_damage(check, file, REMEDY_SUMMARY,
                         value ? _("its \"%s\" has the wrong type") : _("its \"%s\" is missing"),
                         members[i].key);
    }
    for (const struct json *m = json_first_member(tree); m; m = json_next(m)) {
        size_t i = 0;
        while (i < MEMBERS && strcmp(members[i].key, json_key(m)) != 0)
            i++;
        if (i == MEMBERS)
            check_report(check, file, RUN_PROBLEM_WARNING, REMEDY_NONE,
                         _("\"%.64s\" is not known to this version of tinca"), json_key(m));
    }
}

static void inspect_tree(struct check *check, const char *file, const struct json *tree)
{
    bool flag;
    size_t version = 0;
    struct check_mark *mark = &check->marks[MARK_SUMMARY];
    const char *format = json_string(json_member(tree, "format"));
    const struct json *error = json_member(tree, "error");
    if (!format || strcmp(format, "tinca-summary") != 0 ||
        !json_count(json_member(tree, "version"), &version) || version != 1) {
        check_damage(check, file, REMEDY_SUMMARY, _("it is not a summary of a run"));
        return;
    }
    inspect_members(check, file, tree);
    if (!json_bool(json_member(tree, "has_validation"), &flag) ||
        (!json_is_null(error) && !json_string(json_member(error, "why"))))
        check_damage(check, file, REMEDY_SUMMARY,
                     _("its \"error\" or \"has_validation\" is missing or has the wrong type"));
    if (run_files_parse_end(tree, &mark->end))
        mark->file = file;
    else if (json_member(tree, "journal"))
        check_damage(check, file, REMEDY_SUMMARY, _("its \"journal_sum\" is not a checksum"));
}

void check_summary(struct check *check, const char *file)
{
    struct json_document document;
    if (!check_read_json(check, file, LIMIT, REMEDY_SUMMARY, &document))
        return;
    inspect_tree(check, file, document.root);
    check_checksum(check, file, REMEDY_SUMMARY, &document);
    json_document_free(&document);
    if (check_is_sound(check, file) &&
        !run_files_read_summary(check->directory, &check->summary.snapshot))
        check_damage(check, file, REMEDY_SUMMARY, _("its \"status\" is not how a run ends"));
    check->summary.read = check_is_sound(check, file);
}
