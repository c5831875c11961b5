/* The three labels differ by their texts and their file only. A dialog about one run stores its
 * directory; one about marked runs stores none, and the answer adds the tags to those that are
 * marked then: "+good" adds a tag, "-bad" removes one, and tags without sign replace all. */
#include "ui/screens/runs/internal.h"

#include "base/language.h"
#include "base/memory.h"
#include "runs/folder/run_name.h"
#include "ui/app/app.h"
#include "ui/app/run_actions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- runs undo --- */

static void free_step(struct runs_undo_step *step)
{
    for (size_t i = 0; i < step->count; i++) {
        free(step->texts[i].directory);
        free(step->texts[i].text);
    }
    free(step->texts);
    *step = (struct runs_undo_step){0};
}

static void add_step(struct runs_undo *undo, struct runs_undo_step step)
{
    if (undo->count == RUNS_UNDO_STEPS) {
        free_step(&undo->steps[0]);
        memmove(&undo->steps[0], &undo->steps[1], --undo->count * sizeof undo->steps[0]);
    }
    undo->steps[undo->count++] = step;
}

/* Adds a step without texts, or a deletion. If there are too many, the oldest step is forgotten. */
static void runs_undo_begin(struct runs_undo *undo, int label)
{
    add_step(undo, (struct runs_undo_step){.label = label});
}

void runs_undo_add_deletion(struct runs_undo *undo)
{
    add_step(undo, (struct runs_undo_step){.is_deletion = true});
}

/* Adds the text of a run to the newest step. Returns false with an error if out of memory. */
static bool runs_undo_add(struct runs_undo *undo, const char *directory, const char *text,
                          struct error *error)
{
    struct runs_undo_step *step = &undo->steps[undo->count - 1];
    if (!memory_grow(&step->texts, &step->capacity, step->count + 1, sizeof *step->texts,
                     "what can be undone", error))
        return false;
    struct runs_undo_text *added = &step->texts[step->count];
    added->directory = memory_copy_text(directory, error);
    added->text = memory_copy_text(text, error);
    if (added->directory && added->text) {
        step->count++;
        return true;
    }
    free(added->directory);
    free(added->text);
    return false;
}

const struct runs_undo_step *runs_undo_newest(const struct runs_undo *undo)
{
    return undo->count > 0 ? &undo->steps[undo->count - 1] : NULL;
}

void runs_undo_drop(struct runs_undo *undo)
{
    if (undo->count > 0)
        free_step(&undo->steps[--undo->count]);
}

void runs_undo_free(struct runs_undo *undo)
{
    while (undo->count > 0)
        runs_undo_drop(undo);
}

static const struct label {
    const char *title, *text;
    size_t size;
    char *(*read)(const char *directory, char *text);
    bool (*write)(const char *directory, const char *text, struct error *error);
    size_t offset; /* of the text in struct run_entry */
    const char *set, *removed, *undone;
} labels[] = {
    [RUNS_LABEL_NAME] = {N_("A name for this run"),
                         N_("%s: commands accept the name instead of this ID. An empty name "
                            "removes it."),
                         RUN_NAME_SIZE, run_name_read, run_name_write,
                         offsetof(struct run_entry, name), N_("The run %s is called \"%s\" now."),
                         N_("The name of run %s was removed."),
                         N_("The run %s has its earlier name again.")},
    [RUNS_LABEL_TAGS] = {N_("Tags"),
                         N_("%s: tags are separated by spaces; the filter tag:good finds them."),
                         RUN_TAGS_SIZE, run_tags_read, run_tags_write,
                         offsetof(struct run_entry, tags),
                         N_("The run %s has the tags \"%s\" now."),
                         N_("The tags of run %s were removed."),
                         N_("The run %s has its earlier tags again.")},
    [RUNS_LABEL_NOTE] = {N_("A note about this run"), N_("%s: one line. An empty note removes it."),
                         RUN_NOTE_SIZE, run_note_read, run_note_write,
                         offsetof(struct run_entry, note), N_("Run %s: %s"),
                         N_("The note of run %s was removed."),
                         N_("The run %s has its earlier note again.")},
};

bool runs_is_marked(const struct app *app, size_t index)
{
    const struct run_entry *entry = app_run_at(app, index);
    return entry->marked && run_entry_directory(entry) && runs_match(app, index);
}

size_t runs_marked_count(const struct app *app)
{
    size_t count = 0;
    for (size_t i = 0; i < app_run_count(app); i++)
        count += runs_is_marked(app, i);
    return count;
}

static void clear_note(struct app *app)
{
    app->dialog.note[0] = '\0';
}

static void reopen(struct app *app, const struct error *error)
{
    app->dialog.open = true;
    snprintf(app->dialog.note, sizeof app->dialog.note, "%.190s", error->why);
}

/* Writes a label of a run and keeps what it was before for undo, as a part of the newest step. */
static bool change(struct app *app, const struct label *label, const char *directory,
                   const char *text, struct error *error)
{
    char before[RUN_NOTE_SIZE];
    return runs_undo_add(&runs_model(app)->undo, directory, label->read(directory, before),
                         error) &&
           label->write(directory, text, error);
}

/* --- one run --- */

static void say_label(struct app *app, const struct label *label, const struct run_entry *entry)
{
    const char *text = (const char *)entry + label->offset;
    app->shared.runs_changed = true;
    if (text[0])
        app_say(app, ROLE_GOOD, gettext(label->set), runs_id(entry), text);
    else
        app_say(app, ROLE_GOOD, gettext(label->removed), runs_id(entry));
}

static void answer(struct app *app, const struct label *label)
{
    struct error error;
    struct run_entry *entry = run_actions_subject(app);
    runs_undo_begin(&runs_model(app)->undo, (int)(label - labels));
    if (!change(app, label, app->shared.subject, app->dialog.edit.text, &error)) {
        runs_undo_drop(&runs_model(app)->undo);
        reopen(app, &error);
        return;
    }
    if (!entry)
        return;
    label->read(app->shared.subject, (char *)entry + label->offset);
    say_label(app, label, entry);
}

static void answer_name(struct app *app, size_t choice)
{
    (void)choice;
    answer(app, &labels[RUNS_LABEL_NAME]);
}

static void answer_note(struct app *app, size_t choice)
{
    (void)choice;
    answer(app, &labels[RUNS_LABEL_NOTE]);
}

/* --- tags --- */

/* Adds a word to the tags, or removes it. */
static void change_tags(char *tags, size_t size, const char *word, bool add)
{
    char before[1024], *rest = before;
    size_t length = 0;
    snprintf(before, sizeof before, "%s", tags);
    tags[0] = '\0';
    for (char *tag; (tag = strtok_r(rest, " ", &rest));)
        if (strcasecmp(tag, word) != 0 && length < size)
            length +=
                (size_t)snprintf(tags + length, size - length, "%s%s", length ? " " : "", tag);
    if (add && length < size)
        snprintf(tags + length, size - length, "%s%s", length ? " " : "", word);
}

static bool tag_entry(struct app *app, struct run_entry *entry, const char *typed,
                      struct error *error)
{
    char words[512], tags[1024], *rest = words;
    const char *directory = run_entry_directory(entry);
    const bool replaces = !strchr("+-", typed[0]) || !typed[0];
    snprintf(words, sizeof words, "%s", typed);
    snprintf(tags, sizeof tags, "%s", replaces ? "" : entry->tags);
    for (char *word; (word = strtok_r(rest, " ,", &rest));)
        change_tags(tags, sizeof tags, word + (word[0] == '+' || word[0] == '-'), word[0] != '-');
    if (!change(app, &labels[RUNS_LABEL_TAGS], directory, tags, error))
        return false;
    run_tags_read(directory, entry->tags);
    return true;
}

/* Signs mean the same as in the answer about marked runs. */
static void answer_tags(struct app *app, size_t choice)
{
    struct error error;
    struct run_entry *entry = run_actions_subject(app);
    (void)choice;
    if (!entry)
        return;
    runs_undo_begin(&runs_model(app)->undo, RUNS_LABEL_TAGS);
    if (tag_entry(app, entry, app->dialog.edit.text, &error)) {
        say_label(app, &labels[RUNS_LABEL_TAGS], entry);
        return;
    }
    runs_undo_drop(&runs_model(app)->undo);
    reopen(app, &error);
}

static void answer_marked(struct app *app, size_t choice)
{
    struct error error;
    size_t tagged = 0;
    (void)choice;
    runs_undo_begin(&runs_model(app)->undo, RUNS_LABEL_TAGS);
    for (size_t i = 0; i < app_run_count(app); i++) {
        if (!runs_is_marked(app, i))
            continue;
        if (!tag_entry(app, app_run_at(app, i), app->dialog.edit.text, &error)) {
            reopen(app, &error);
            return;
        }
        tagged++;
    }
    app->shared.runs_changed = true;
    app_say(app, ROLE_GOOD, ngettext("Tagged %zu run.", "Tagged %zu runs.", tagged), tagged);
}

static void ask_marked(struct app *app, size_t marked)
{
    struct dialog *dialog = dialog_begin(app, _("Tags"), answer_marked);
    snprintf(dialog->text, sizeof dialog->text,
             ngettext("%zu marked run: +TAG adds a tag, -TAG removes it; without a sign the tags "
                      "replace all.",
                      "%zu marked runs: +TAG adds a tag, -TAG removes it; without a sign the tags "
                      "replace all.",
                      marked),
             marked);
    line_edit_begin(&dialog->edit, "+", 256, false);
    dialog->edited = clear_note;
}

void runs_ask_label(struct app *app, enum runs_label kind, size_t index)
{
    static void (*const answers[])(struct app * app,
                                   size_t choice) = {[RUNS_LABEL_NAME] = answer_name,
                                                     [RUNS_LABEL_TAGS] = answer_tags,
                                                     [RUNS_LABEL_NOTE] = answer_note};
    const struct label *label = &labels[kind];
    const size_t marked = kind == RUNS_LABEL_TAGS ? runs_marked_count(app) : 0;
    const struct run_entry *entry = index < app_run_count(app) ? app_run_at(app, index) : NULL;
    const char *directory = entry ? run_entry_directory(entry) : NULL;
    if (marked > 0) {
        ask_marked(app, marked);
        return;
    }
    if (!directory) {
        app_say(app, ROLE_WARNING, "%s",
                entry ? _("This run has not begun: it can be named when it has.")
                      : _("There is no run to name."));
        return;
    }
    struct dialog *dialog = dialog_begin(app, gettext(label->title), answers[kind]);
    snprintf(app->shared.subject, sizeof app->shared.subject, "%s", directory);
    snprintf(dialog->text, sizeof dialog->text, gettext(label->text), runs_id(entry));
    line_edit_begin(&dialog->edit, (const char *)entry + label->offset, label->size, false);
    dialog->edited = clear_note;
}

/* --- undo --- */

/* Returns the run of a directory; NULL: it is not listed. */
static struct run_entry *entry_of(const struct app *app, const char *directory)
{
    for (size_t i = 0; i < app_run_count(app); i++) {
        struct run_entry *entry = app_run_at(app, i);
        const char *own = run_entry_directory(entry);
        if (own && strcmp(own, directory) == 0)
            return entry;
    }
    return NULL;
}

void runs_undo_label(struct app *app)
{
    struct error error;
    const struct runs_undo_step *step = runs_undo_newest(&runs_model(app)->undo);
    const struct label *label = &labels[step->label];
    const struct run_entry *last = NULL;
    bool good = true;
    for (size_t i = 0; i < step->count && good; i++) {
        const char *directory = step->texts[i].directory;
        struct run_entry *entry = entry_of(app, directory);
        good = label->write(directory, step->texts[i].text, &error);
        if (good && entry)
            label->read(directory, (char *)entry + label->offset);
        last = entry ? entry : last;
    }
    app->shared.runs_changed = true;
    if (!good)
        app_say_error(app, &error);
    else if (step->count == 1 && last)
        app_say(app, ROLE_GOOD, gettext(label->undone), runs_id(last));
    else
        app_say(app, ROLE_GOOD,
                ngettext("%zu run has its earlier tags again.",
                         "%zu runs have their earlier tags again.", step->count),
                step->count);
    runs_undo_drop(&runs_model(app)->undo);
}
