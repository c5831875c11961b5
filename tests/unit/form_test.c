/* What the form, its editor, lists, dialogs and the queue decide, without a terminal; the runs are
 * fake_session's. */
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
    tap_ok(form.config.batch == 128, "right: the next power of two");
    form_cycle(&form, -1);
    form_cycle(&form, -1);
    tap_ok(form.config.batch == 32, "left: the one before");
    form_set(&form, "48");
    form_cycle(&form, 1);
    tap_ok(form.config.batch == 64, "from a number between, to the next suggestion");
    focus("seed");
    form_cycle(&form, 1);
    tap_ok(form.config.seed == 2, "a count without suggestions goes by one");
    focus("augment");
    bool before = form.config.augment;
    form_cycle(&form, 1);
    tap_ok(form.config.augment != before, "a flag flips");
    focus("network");
    form_set(&form, "/tmp/mine.json");
    form_cycle(&form, 1);
    form_cycle(&form, -1);
    tap_ok(strcmp(value(), "/tmp/mine.json") == 0, "what was typed is not lost among suggestions");
    focus("solver");
    form_cycle(&form, -1);
    tap_ok(strcmp(value(), "adam") == 0, "choices go round");
    focus("validate");
    form_cycle(&form, 1);
    tap_ok(value()[0] != '\0', "an optional field has suggestions");
    form_set(&form, "");
    tap_ok(value()[0] == '\0' && form.edit_error.kind == ERROR_NONE, "and can be emptied");
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
           "fields that mean nothing are not in the way");
    set("technique", "shuffle");
    tap_ok(shows("groups") && strcmp(form_focused(&form)->key, "technique") == 0,
           "groups come with shuffle, and the focus stays");
    set("groups", "4");
    set("technique", "none");
    tap_ok(shows("groups"), "what was changed stays in sight");
    set("network", "resnet20");
    set("schedule", "step");
    tap_ok(shows("block-rate") && shows("gamma") && shows("step-size"),
           "block rate with residual blocks, gamma with a schedule of steps");
    form_show_all(&form, true);
    tap_ok(form.count == config_field_count && strcmp(form_focused(&form)->key, "schedule") == 0,
           "every setting can be shown");
    set("power", "2");
    form_show_all(&form, false);
    tap_ok(shows("power") && !shows("l1-weight"), "and those that mean nothing left out again");
    begin();
    set("preset", "pix2pix");
    focus("l1-weight");
    tap_ok(strcmp(value(), "100") == 0, "the preset pix2pix fills in the weight of L1");
    focus("tolerance");
    tap_ok(strcmp(value(), "16") == 0, "and the tolerance");
    focus("schedule");
    tap_ok(strcmp(value(), "linear") == 0, "and its schedule");
    set("l1-weight", "10");
    set("batch", "4");
    set("network", "pix2pix");
    tap_ok(form.config.l1_weight == 10 && form.config.batch == 4,
           "what one has set oneself it leaves alone");
    form_show_all(&form, true);
    set("iterations", "50");
    form_show_all(&form, false);
    tap_ok(shows("iterations") && !shows("epochs"), "a length in iterations replaces epochs");
    set("iterations", "");
    tap_ok(shows("epochs") && !shows("iterations"), "until it is emptied");
}

static void test_edit(void)
{
    begin();
    focus("batch");
    type("96");
    tap_ok(form.editing && form.config.batch == 64, "typing begins to edit");
    form_edit_key(&form, UI_ENTER);
    tap_ok(!form.editing && form.config.batch == 96, "Enter takes it");
    type("12");
    form_edit_key(&form, UI_ESCAPE);
    tap_ok(!form.editing && form.config.batch == 96, "Esc leaves it");
    type("0");
    form_edit_key(&form, UI_ENTER);
    tap_ok(form.editing && form.edit_error.kind != ERROR_NONE && form.config.batch == 96,
           "what is wrong is said, and stays to be mended");
    form_edit_key(&form, UI_CTRL_U);
    type("8");
    form_edit_key(&form, UI_DOWN);
    tap_ok(!form.editing && form.config.batch == 8 &&
               strcmp(form_focused(&form)->key, "device") == 0,
           "down takes it and goes on");
    focus("solver");
    tap_ok(!form_edit_by_typing(&form, 'x') && !form.editing, "a choice is not typed");
}

static void test_line(void)
{
    struct line_edit edit;
    line_edit_begin(&edit, "abc", sizeof edit.text, true);
    line_edit_key(&edit, 'x');
    tap_ok(strcmp(edit.text, "x") == 0, "the first character replaces a proposal");
    line_edit_begin(&edit, "abc", sizeof edit.text, true);
    line_edit_key(&edit, UI_LEFT);
    line_edit_key(&edit, 'x');
    tap_ok(strcmp(edit.text, "abxc") == 0, "after moving it is kept");
    line_edit_key(&edit, UI_CTRL_U);
    tap_ok(edit.text[0] == '\0', "C-u clears");
    line_edit_begin(&edit, "one/two", sizeof edit.text, false);
    line_edit_key(&edit, UI_CTRL_W);
    tap_ok(strcmp(edit.text, "one/") == 0, "C-w takes a word away");
    line_edit_begin(&edit, "", 5, false);
    for (int i = 0; i < 20; i++)
        line_edit_key(&edit, 'z');
    tap_ok(strcmp(edit.text, "zzzz") == 0, "a full line takes no more");
    line_edit_begin(&edit, "idx:/et", sizeof edit.text, false);
    tap_ok(line_edit_complete_path(&edit) && strcmp(edit.text, "idx:/etc/") == 0,
           "Tab completes a folder behind a kind of data");
    size_t column, start = line_edit_window(&edit, 4, &column);
    tap_ok(column < 4 && start > 0, "the cursor is in sight of a long line");
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
           "what cannot work is laid to the field at fault");
    form_set(&form, "lenet");
    focus("batch");
    form_set(&form, "60000");
    form_make_forecast(&form);
    tap_ok(form.problem.kind == ERROR_MEMORY && strstr(form.problem.advice, "8192") &&
               strcmp(form.fields[form.problem_field]->key, "batch") == 0,
           "what does not fit names the largest batch that does");
    focus("data");
    form_set(&form, "");
    tap_ok(form.problem.kind != ERROR_NONE && form.problem_field == form.focus,
           "a missing value is said at once");
}

static void test_scroll(void)
{
    begin();
    form_move(&form, FORM_MAX_FIELDS);
    form_scroll(&form, 5);
    tap_ok(form.focus == form.count - 1 && form.top == form.count - 5,
           "the last field is in sight");
    form_move(&form, -FORM_MAX_FIELDS);
    form_scroll(&form, 5);
    tap_ok(form.focus == 0 && form.top == 0, "and the first");
    form_scroll(&form, 0);
    tap_ok(true, "no room at all is no trouble");
}

static void test_chooser(void)
{
    struct chooser chooser;
    struct chooser_item items[CHOOSER_MAX_ITEMS];
    begin();
    focus("network");
    size_t count = form_items(&form, form.focus, items);
    chooser_begin(&chooser, "Network", items, count, "lenet", true);
    tap_ok(strcmp(chooser_choice(&chooser), "lenet") == 0, "a list begins at the present value");
    for (const char *c = "resnet56"; *c; c++)
        chooser_key(&chooser, *c);
    tap_ok(chooser.shown_count == 1 && chooser_key(&chooser, UI_ENTER) == CHOOSER_CHOSEN &&
               strcmp(chooser_choice(&chooser), "resnet56") == 0,
           "typing narrows it");
    for (const char *c = "-2.6"; *c; c++)
        chooser_key(&chooser, *c);
    tap_ok(chooser.shown_count == 0 && strcmp(chooser_choice(&chooser), "resnet56-2.6") == 0,
           "what matches nothing is taken as typed");
    chooser.free_text = false;
    tap_ok(chooser_key(&chooser, UI_ENTER) == CHOOSER_OPEN, "unless only the list counts");
    tap_ok(chooser_key(&chooser, UI_ESCAPE) == CHOOSER_CANCELLED, "Esc leaves");
    focus("data");
    count = form_items(&form, form.focus, items);
    bool folder = false;
    for (size_t i = 0; i < count; i++)
        folder = folder || strcmp(items[i].text, "cifar10:") == 0;
    tap_ok(folder, "kinds of data that need a folder are offered");
}

static void test_dialog(void)
{
    struct dialog dialog = {.open = true,
                            .choices = {{'y', 's', "yes"}, {'e', 0, "epoch"}, {'c', 'n', "no"}},
                            .choice_count = 3};
    tap_ok(dialog_key(&dialog, 'n') == DIALOG_ANSWERED && dialog.selected == 2,
           "a letter answers at once");
    tap_ok(dialog_key(&dialog, UI_UP) == DIALOG_OPEN && dialog.selected == 1, "arrows choose");
    tap_ok(dialog_key(&dialog, 'z') == DIALOG_OPEN, "other keys do nothing");
    tap_ok(dialog_key(&dialog, UI_ENTER) == DIALOG_ANSWERED && dialog.selected == 1,
           "Enter answers");
    tap_ok(dialog_key(&dialog, UI_ESCAPE) == DIALOG_CANCELLED, "Esc cancels");
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
           "one run is on, two wait");
    tap_ok(!run_list_remove(&list, 0) && run_list_remove(&list, 1) && list.count == 2,
           "only a run that waits can be dropped");
    run_send(list.entries[0].run, COMMAND_STOP, 0);
    size_t ended = run_list_step(&list);
    tap_ok(ended == 0 && run_list_active(&list) == &list.entries[1],
           "the next starts when one ends");
    run_list_add(&list, &config, NULL, NULL);
    run_list_stop(&list, COMMAND_STOP);
    run_list_step(&list);
    tap_ok(!run_list_active(&list) && run_list_waiting(&list) == 0 && list.count == 2,
           "stopping drops what waits");
    struct run *runs[2];
    tap_ok(run_list_started(&list, runs) == 2, "what was started can be exported");
    run_list_free(&list);
}

int main(void)
{
    test_cycle();
    test_fields();
    test_edit();
    test_line();
    test_problems();
    test_scroll();
    test_chooser();
    test_dialog();
    test_queue();
    return tap_done();
}
