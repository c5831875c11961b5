/* Tests the form, its editor, lists, dialogs and the list of runs without a terminal. The runs are
 * those of fake_session. */
#include "tap.h"
#include "ui/app/dialog.h"
#include "ui/shared/form.h"
#include "ui/shared/run_list.h"
#include "ui/terminal/keys.h"
#include "ui/widgets/chooser.h"

#include <stdlib.h>
#include <string.h>

static struct form form;

static void begin(void)
{
    struct run_config config;
    config_defaults(&config);
    form_begin(&form, &config);
}

static void focus(const char *key)
{
    for (form.focus = 0; strcmp(form_focused(&form)->key, key) != 0;)
        form_move(&form, 1);
}

static const char *value(void)
{
    static char text[FORM_TEXT];
    return form_value(&form, form.focus, text, sizeof text);
}

static void type(const char *text)
{
    for (; *text; text++)
        if (form.editing)
            form_edit_key(&form, *text);
        else
            form_edit_by_typing(&form, *text);
}

static void test_cycle(void)
{
    begin();
    focus("batch");
    form_cycle(&form, 1);
    tap_ok(form.config.batch == 128, "the next value is the next power of two");
    form_cycle(&form, -1);
    form_cycle(&form, -1);
    tap_ok(form.config.batch == 32, "the previous value is the previous power of two");
    form_set(&form, "48");
    form_cycle(&form, 1);
    tap_ok(form.config.batch == 64, "a number between two suggestions goes to the next one");
    focus("seed");
    form_cycle(&form, 1);
    tap_ok(form.config.seed == 2, "a count without suggestions changes by one");
    focus("augment");
    form_cycle(&form, 1);
    tap_ok(strcmp(form.config.augment, "yes") == 0, "the augmentation changes from no to yes");
    form_set(&form, "cutout=8,flip");
    tap_ok(strcmp(form.config.augment, "flip,cutout=8") == 0, "and can be typed");
    form_set(&form, "no");
    focus("network");
    form_set(&form, "/tmp/mine.json");
    form_cycle(&form, 1);
    form_cycle(&form, -1);
    tap_ok(strcmp(value(), "/tmp/mine.json") == 0, "a typed value stays among the suggestions");
    focus("solver");
    form_cycle(&form, -1);
    tap_ok(strcmp(value(), "rmsprop") == 0, "after the last choice comes the first");
    focus("validate");
    form_cycle(&form, 1);
    tap_ok(value()[0] != '\0', "an optional field has suggestions");
    form_set(&form, "");
    tap_ok(value()[0] == '\0' && form.edit_error.kind == ERROR_NONE,
           "an optional field can be emptied");
}

static bool shows(const char *key)
{
    for (size_t i = 0; i < form.count; i++)
        if (strcmp(form.fields[i]->key, key) == 0)
            return true;
    return false;
}

static void set(const char *key, const char *text)
{
    focus(key);
    form_set(&form, text);
}

static void test_fields(void)
{
    begin();
    tap_ok(shows("width-rate") && !shows("groups") && !shows("block-rate") && !shows("power"),
           "fields without effect are hidden");
    set("technique", "shuffle");
    tap_ok(shows("groups") && strcmp(form_focused(&form)->key, "technique") == 0,
           "choosing shuffle shows the field groups and leaves the focus");
    set("groups", "4");
    set("technique", "none");
    tap_ok(shows("groups"), "a changed field stays shown");
    set("network", "resnet20");
    set("schedule", "step");
    tap_ok(shows("block-rate") && shows("gamma") && shows("step-size"),
           "residual blocks show the block rate, the schedule step shows gamma");
    set("schedule", "inv");
    tap_ok(shows("gamma") && shows("power") && !shows("step-size"),
           "the schedule inv shows gamma and power");
    form_show_all(&form, true);
    tap_ok(form.count == config_field_count && strcmp(form_focused(&form)->key, "schedule") == 0,
           "all fields can be shown");
    set("power", "2");
    form_show_all(&form, false);
    tap_ok(shows("power") && !shows("l1-weight"), "fields without effect can be hidden again");
    begin();
    set("preset", "pix2pix");
    focus("l1-weight");
    tap_ok(strcmp(value(), "100") == 0, "the preset pix2pix fills in the weight of L1");
    focus("tolerance");
    tap_ok(strcmp(value(), "16") == 0, "the preset fills in the tolerance");
    focus("schedule");
    tap_ok(strcmp(value(), "linear") == 0, "the preset fills in the schedule");
    set("l1-weight", "10");
    set("batch", "4");
    set("network", "pix2pix");
    tap_ok(form.config.l1_weight == 10 && form.config.batch == 4,
           "the preset leaves settings that the user has given");
    form_show_all(&form, true);
    set("iterations", "50");
    form_show_all(&form, false);
    tap_ok(shows("iterations") && !shows("epochs"), "a length in iterations replaces epochs");
    set("iterations", "");
    tap_ok(shows("epochs") && !shows("iterations"),
           "emptying the length in iterations restores epochs");
}

static void test_edit(void)
{
    begin();
    focus("batch");
    type("96");
    tap_ok(form.editing && form.config.batch == 64, "typing begins to edit");
    form_edit_key(&form, UI_ENTER);
    tap_ok(!form.editing && form.config.batch == 96, "Enter sets the typed value");
    type("12");
    form_edit_key(&form, UI_ESCAPE);
    tap_ok(!form.editing && form.config.batch == 96, "Esc restores the old value");
    type("0");
    form_edit_key(&form, UI_ENTER);
    tap_ok(form.editing && form.edit_error.kind != ERROR_NONE && form.config.batch == 96,
           "an invalid text is reported and stays in the editor");
    form_edit_key(&form, UI_CTRL_U);
    type("8");
    form_edit_key(&form, UI_DOWN);
    tap_ok(!form.editing && form.config.batch == 8 &&
               strcmp(form_focused(&form)->key, "device") == 0,
           "Down sets the value and moves to the next field");
    focus("solver");
    tap_ok(!form_edit_by_typing(&form, 'x') && !form.editing,
           "a field with fixed choices cannot be edited");
}

/* Returns whether the list of candidates has this text. */
static bool is_offered(const char *text)
{
    for (size_t i = 0; i < form.completion.count; i++)
        if (strcmp(form.completion.items[i].text, text) == 0)
            return true;
    return false;
}

static void test_text_row(void)
{
    begin();
    focus("preset");
    tap_ok(!form_takes_text(&form) && !form_edit_by_typing(&form, 'r') && !form.editing,
           "a row of choices takes no letters");
    focus("network");
    type("r/q?* :");
    tap_ok(form_takes_text(&form) && form.editing && strcmp(form.edit.text, "r/q?* :") == 0,
           "a row that holds text takes every printable key");
    form_edit_key(&form, UI_ESCAPE);
    tap_ok(!form.editing && strcmp(value(), "lenet") == 0, "Esc restores its value");
    form_set(&form, "own/mine.json");
    form_edit(&form, NULL);
    tap_ok(is_offered("alexnet"), "editing the value offers the others");
    form_edit_key(&form, UI_ENTER);
    tap_ok(!form.editing && strcmp(value(), "own/mine.json") == 0, "Enter keeps the value");
    form_edit(&form, NULL);
    form_edit_key(&form, UI_DOWN);
    form_edit_key(&form, UI_ENTER);
    tap_ok(!form.editing && strcmp(value(), "own/mine.json") != 0,
           "a chosen candidate replaces it");
    form_edit(&form, NULL);
    tap_ok(is_offered("own/mine.json"), "and it stays on offer");
    form_edit_key(&form, UI_ESCAPE);
    tap_ok(form.editing && !completion_is_shown(&form.completion), "Esc closes the list first");
    form_edit_key(&form, UI_CTRL_U);
    type("resnet5");
    form_edit_key(&form, UI_UP);
    tap_ok(!form.editing && strcmp(form.config.network, "resnet5") == 0,
           "Up without a chosen candidate takes the text as it is");
    type("x");
    tap_ok(form_end_edit(&form) && !form.editing, "running takes what is being typed");
}

static void test_notes(void)
{
    char note[96];
    begin();
    focus("width-rate");
    tap_ok(strcmp(form_note(&form, form.focus, note, sizeof note), "widths as they are") == 0,
           "a rate of 0 is explained on its row");
    form_set(&form, "2.5");
    tap_ok(strcmp(form_note(&form, form.focus, note, sizeof note), "widths / 2.5") == 0,
           "so is another one");
    focus("batch");
    tap_ok(form_note(&form, form.focus, note, sizeof note)[0] == '\0', "other rows have no note");
}

static void test_line(void)
{
    struct line_edit edit;
    line_edit_begin(&edit, "abc", sizeof edit.text, true);
    line_edit_key(&edit, 'x');
    tap_ok(strcmp(edit.text, "x") == 0, "the first character typed replaces a proposed text");
    line_edit_begin(&edit, "abc", sizeof edit.text, true);
    line_edit_key(&edit, UI_LEFT);
    line_edit_key(&edit, 'x');
    tap_ok(strcmp(edit.text, "abxc") == 0,
           "after moving the cursor, typing edits the proposed text");
    line_edit_key(&edit, UI_CTRL_U);
    tap_ok(edit.text[0] == '\0', "C-u clears the line");
    line_edit_begin(&edit, "one/two", sizeof edit.text, false);
    line_edit_key(&edit, UI_CTRL_W);
    tap_ok(strcmp(edit.text, "one/") == 0, "C-w deletes a word");
    line_edit_begin(&edit, "", 5, false);
    for (int i = 0; i < 20; i++)
        line_edit_key(&edit, 'z');
    tap_ok(strcmp(edit.text, "zzzz") == 0, "a full line ignores further characters");
    line_edit_begin(&edit, "idx:/etc/", sizeof edit.text, false);
    size_t column, start = line_edit_window(&edit, 4, &column);
    tap_ok(column < 4 && start > 0, "the cursor of a long line is visible");
}

static void test_problems(void)
{
    begin();
    form_make_forecast(&form);
    tap_ok(form.forecast_known && form.problem.kind == ERROR_NONE,
           "a good configuration has a forecast");
    focus("network");
    form_set(&form, "alexnet");
    tap_ok(form.forecast_stale, "a change makes the forecast stale");
    form_make_forecast(&form);
    tap_ok(form.problem.kind != ERROR_NONE &&
               strcmp(form.fields[form.problem_field]->key, "data") == 0,
           "a problem names the field that causes it");
    form_set(&form, "lenet");
    focus("batch");
    form_set(&form, "60000");
    form_make_forecast(&form);
    tap_ok(form.problem.kind == ERROR_MEMORY && strstr(form.problem.advice, "8192") &&
               strcmp(form.fields[form.problem_field]->key, "batch") == 0,
           "if the memory is too small, the advice is the largest batch that fits");
    focus("data");
    form_set(&form, "");
    tap_ok(form.problem.kind != ERROR_NONE && form.problem_field == form.focus,
           "a missing value is reported at once");
}

static void test_words(void)
{
    struct error error;
    char text[640];
    begin();
    config_set(&form.config, "epochs", "2", &error);
    config_set(&form.config, "iterations", "9", &error);
    tap_ok(!config_check(&form.config, &error) && strstr(error.what, "--epochs and --iterations"),
           "a message of the session names settings by their options");
    tap_ok(strncmp(setting_error_format(&error, text, sizeof text),
                   "Epochs and Iterations: ", 23) == 0,
           "and on the screen by the form's rows: %s", text);
    tap_ok(strcmp(setting_words("--lr=3, --retry, --l1-weight", text, sizeof text),
                  "Learning rate=3, --retry, L1 weight") == 0,
           "what is no setting stays: %s", text);
    tap_ok(strcmp(setting_words("tinca train --data digits", text, sizeof text),
                  "tinca train --data digits") == 0,
           "a quoted command stays as it is typed");
    tap_ok(strcmp(setting_words("--batch 8", text, 8), "Batch s") == 0,
           "a text is cut to its room");
}

static void test_scroll(void)
{
    begin();
    form_move(&form, FORM_MAX_FIELDS);
    form_scroll(&form, 5);
    tap_ok(form.focus == form.count - 1 && form.top == form.count - 5,
           "the last field is visible after moving there");
    form_move(&form, -FORM_MAX_FIELDS);
    form_scroll(&form, 5);
    tap_ok(form.focus == 0 && form.top == 0, "the first field is visible after moving there");
    form_scroll(&form, 0);
    tap_ok(true, "a form without rows can be scrolled");
}

static void test_chooser(void)
{
    struct chooser chooser;
    struct chooser_item items[CHOOSER_MAX_ITEMS];
    begin();
    focus("network");
    const size_t count = form_items(&form, form.focus, items);
    chooser_begin(&chooser, "Network", items, count, "lenet", true);
    tap_ok(strcmp(chooser_choice(&chooser), "lenet") == 0, "a list begins at the current value");
    for (const char *c = "resnet56"; *c; c++)
        chooser_key(&chooser, *c);
    tap_ok(chooser.shown_count == 1 && chooser_key(&chooser, UI_ENTER) == CHOOSER_CHOSEN &&
               strcmp(chooser_choice(&chooser), "resnet56") == 0,
           "typing filters the list");
    chooser_key(&chooser, UI_BACKSPACE);
    tap_ok(chooser.shown_count == 1 && strcmp(chooser_choice(&chooser), "resnet5") == 0,
           "Enter takes what was typed, not an item that contains it");
    chooser_key(&chooser, UI_DOWN);
    tap_ok(strcmp(chooser_choice(&chooser), "resnet56") == 0, "Down selects the item");
    for (const char *c = "6-2.6"; *c; c++)
        chooser_key(&chooser, *c);
    tap_ok(chooser.shown_count == 0 && strcmp(chooser_choice(&chooser), "resnet56-2.6") == 0,
           "a text that matches no item is chosen as typed");
    chooser.free_text = false;
    tap_ok(chooser_key(&chooser, UI_ENTER) == CHOOSER_OPEN,
           "without free text a text that matches no item is not chosen");
    tap_ok(chooser_key(&chooser, UI_ESCAPE) == CHOOSER_CANCELLED, "Esc cancels the list");
}

static void test_dialog(void)
{
    struct dialog dialog = {.open = true,
                            .choices = {{'y', 's', "yes"}, {'e', 0, "epoch"}, {'c', 'n', "no"}},
                            .choice_count = 3};
    tap_ok(dialog_key(&dialog, 'n') == DIALOG_ANSWERED && dialog.selected == 2,
           "a letter answers a question at once");
    tap_ok(dialog_key(&dialog, UI_UP) == DIALOG_OPEN && dialog.selected == 1,
           "arrow keys select an answer");
    tap_ok(dialog_key(&dialog, 'z') == DIALOG_OPEN, "other keys leave the question open");
    tap_ok(dialog_key(&dialog, UI_ENTER) == DIALOG_ANSWERED && dialog.selected == 1,
           "Enter gives the selected answer");
    tap_ok(dialog_key(&dialog, UI_ESCAPE) == DIALOG_CANCELLED, "Esc cancels the question");
}

static void test_queue(void)
{
    struct run_list list = {0};
    struct run_config config;
    config_defaults(&config);
    setenv("UI_FAKE_FREEZE", "7", 1);
    for (int i = 0; i < 3; i++)
        run_list_add(&list, &config, NULL, NULL);
    run_list_step(&list);
    tap_ok(run_list_active(&list) == &list.entries[0] && run_list_waiting(&list) == 2,
           "one run is active, two wait");
    tap_ok(!run_list_remove(&list, 0) && run_list_remove(&list, 1) && list.count == 2,
           "only a waiting run can be removed");
    run_send(list.entries[0].run, COMMAND_STOP, 0);
    size_t ended = run_list_step(&list);
    tap_ok(ended == 0 && run_list_active(&list) == &list.entries[1],
           "the next run starts when one ends");
    run_list_add(&list, &config, NULL, NULL);
    run_list_stop(&list, COMMAND_STOP);
    run_list_step(&list);
    tap_ok(!run_list_active(&list) && run_list_waiting(&list) == 0 && list.count == 2,
           "stopping removes the waiting runs");
    run_list_free(&list);
}

TEST_CASE(form_test)
{
    test_cycle();
    test_fields();
    test_edit();
    test_text_row();
    test_notes();
    test_line();
    test_problems();
    test_words();
    test_scroll();
    test_chooser();
    test_dialog();
    test_queue();
    return tap_done();
}
