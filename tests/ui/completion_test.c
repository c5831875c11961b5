/* Tests the candidates for networks, data sets and paths, and the keys of their list, in a folder
 * that the test makes. */
#include "tap.h"

#include "base/files/file.h"
#include "ui/shared/completion_sources.h"
#include "ui/terminal/keys.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct completion completion;
static struct line_edit edit;
static struct completion_subject subject = {.typed = ""};

/* Makes the candidates for a text, when the names of the folder are known. */
static void update(bool all)
{
    do {
        completion_update(&completion, &edit, all, completion_of_field, &subject);
    } while (completion_is_waiting(&completion));
}

static void complete(const char *key, const char *text)
{
    subject.field = config_find(key);
    line_edit_begin(&edit, text, sizeof edit.text, false);
    update(false);
}

static const struct completion_item *item(const char *text)
{
    for (size_t i = 0; i < completion.count; i++)
        if (strcmp(completion.items[i].text, text) == 0)
            return &completion.items[i];
    return NULL;
}

/* Passes a key to the list as the form does. */
static enum completion_result press(int key)
{
    const enum completion_result result = completion_key(&completion, &edit, key);
    if (result == COMPLETION_CHANGED)
        update(false);
    return result;
}

static bool line_is(const char *text)
{
    return strcmp(edit.text, text) == 0 && edit.cursor == strlen(text);
}

static void make_files(void)
{
    static const char *const folders[] = {"sets",
                                          "sets/mnist",
                                          "sets/my cats",
                                          "sets/my cats/cat",
                                          "sets/my cats/train",
                                          "sets/my cats/train/tabby",
                                          "sets/.hidden",
                                          "sets/\303\251t\303\251",
                                          "many"};
    char name[64];
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        mkdir(folders[i], 0777);
    file_write("mine.json", "{}", 2, false, NULL);
    file_write("notes.txt", "", 0, false, NULL);
    file_write("sets/evil\033[2J.json", "", 0, false, NULL);
    for (int i = 0; i < COMPLETION_ITEMS + 40; i++) {
        snprintf(name, sizeof name, "many/set%03d", i);
        mkdir(name, 0777);
    }
}

static void test_networks(void)
{
    complete("network", "res");
    tap_ok(completion.count == 3 && item("resnet110"), "networks that begin with the text");
    complete("network", "resnet20-");
    tap_ok(item("resnet20-dsc") && item("resnet20-2.4_block") && !item("resnet20-tanh"),
           "suffixes with which the network can be built");
    complete("network", "lenet-dsc-");
    tap_ok(item("lenet-dsc-2") && !item("lenet-dsc-shift"), "each kind of suffix once");
    complete("network", "mlp-t");
    tap_ok(completion.count == 1 && item("mlp-tanh"), "a suffix that has been begun");
    complete("network", "m");
    tap_ok(item("mine.json") && item("mlp") && item("many/"), "files and folders are there, too");
    complete("network", "./");
    tap_ok(item("mine.json") && !item("notes.txt") && !item("mlp"),
           "in a path only folders and network files");
    subject.typed = "/nets/own.json";
    complete("network", "lenet");
    update(true);
    tap_ok(item("/nets/own.json") && item("alexnet") && item("mine.json"),
           "all networks, and the value that was typed earlier");
    subject.typed = "";
    complete("network", "lenet-dsc-2");
    tap_ok(!completion_is_shown(&completion), "a complete name offers nothing");
}

static void test_data(void)
{
    complete("data", "");
    tap_ok(item("idx:") && item("idx:")->more && item("shapes") && !item("shapes")->more,
           "kinds of data, with those that need a folder");
    complete("data", "idx:sets/");
    tap_ok(item("mnist/") && item("my cats/") && !item(".hidden/"), "folders");
    complete("data", "idx:sets/.");
    tap_ok(item(".hidden/") && completion.count == 1, "hidden ones when the dot was typed");
    complete("validate", "shapes,");
    tap_ok(item("split=") && item("limit=") && item("only=") && !item("direction=") &&
               !item("broken="),
           "the options that the kind has");
    complete("data", "maps,split=train,");
    tap_ok(item("direction=") && !item("split=") && !item("only="),
           "without those that are given already");
    complete("data", "digits,split=t");
    tap_ok(completion.count == 2 && item("train") && item("test"), "the values of an option");
    complete("data", "cifar10:sets,only=d");
    tap_ok(completion.count == 2 && item("deer") && item("dog"), "the classes of the kind");
    complete("data", "folder:sets/my cats,only=");
    tap_ok(item("tabby") && !item("cat"), "the classes of a folder, of its training split");
    struct folder_listing *before[COMPLETION_LISTINGS];
    memcpy(before, completion.listings, sizeof before);
    update(false);
    tap_ok(before[0] && before[1] && memcmp(before, completion.listings, sizeof before) == 0,
           "both folders are read once");
    complete("data", "nothing:sets,");
    tap_ok(completion.count == 0, "a kind that does not exist has no options");
    complete("data", "idx:no/such/folder/");
    tap_ok(completion.count == 0, "a folder that does not exist has no names");
    complete("data", "idx:many/");
    tap_ok(completion.count == COMPLETION_ITEMS && completion.left_out == 40 &&
               strcmp(completion.items[0].text, "set000/") == 0,
           "of a large folder the first names, and how many were left out");
    complete("device", "re");
    tap_ok(completion.count == 1 && item("reference"), "devices");
    tap_ok(!completion_has_source(config_find("widths")) &&
               !completion_has_source(config_find("batch")),
           "other fields have no candidates");
}

static void test_keys(void)
{
    complete("network", "resnet");
    tap_ok(press(UI_UP) == COMPLETION_IGNORED && press(UI_ENTER) == COMPLETION_IGNORED,
           "without a selected candidate Up and Enter are not the list's");
    press(UI_DOWN);
    press(UI_DOWN);
    tap_ok(press(UI_UP) == COMPLETION_MOVED && completion.selected == 1, "Down and Up select");
    tap_ok(press(UI_ENTER) == COMPLETION_TAKEN && line_is("resnet20"), "Enter takes");
    complete("data", "ci");
    tap_ok(press(UI_TAB) == COMPLETION_CHANGED && line_is("cifar10"),
           "Tab adds what all candidates have in common");
    tap_ok(press(UI_TAB) == COMPLETION_MOVED && press(UI_TAB) == COMPLETION_MOVED &&
               press(UI_TAB) == COMPLETION_MOVED && completion.selected == 1,
           "then it selects one after the other");
    tap_ok(press(UI_BACK_TAB) == COMPLETION_MOVED && completion.selected == completion.count,
           "Shift-Tab goes back");
    tap_ok(press(UI_ESCAPE) == COMPLETION_MOVED && !completion_is_shown(&completion),
           "Esc closes the list");
    tap_ok(press(UI_ESCAPE) == COMPLETION_IGNORED, "the next Esc is not the list's");
    complete("data", "idx:sets/m");
    press(UI_DOWN);
    tap_ok(press(UI_ENTER) == COMPLETION_CHANGED && line_is("idx:sets/mnist/"),
           "a folder is taken, and its folders are shown next");
    complete("data", "idx:sets/\303");
    press(UI_TAB);
    tap_ok(line_is("idx:sets/\303\251t\303\251/"), "half a character is completed, too");
    complete("data", "idx:sets/m,limit=5");
    edit.cursor = strlen("idx:sets/m");
    update(false);
    press(UI_DOWN);
    press(UI_ENTER);
    tap_ok(strcmp(edit.text, "idx:sets/mnist/,limit=5") == 0, "what follows the cursor stays");
    line_edit_begin(&edit, "idx:sets/m", 12, false);
    update(false);
    press(UI_DOWN);
    tap_ok(press(UI_ENTER) == COMPLETION_MOVED && line_is("idx:sets/m"),
           "a candidate for which the line has no room is not taken");
}

TEST_CASE(completion_test)
{
    char folder[] = "/tmp/tinca-completion-XXXXXX", command[64];
    setlocale(LC_ALL, "C.UTF-8");
    if (!mkdtemp(folder) || chdir(folder) != 0) {
        tap_skip("no folder can be made in /tmp");
        return tap_done();
    }
    make_files();
    test_networks();
    test_data();
    test_keys();
    completion_close(&completion);
    snprintf(command, sizeof command, "rm -r %s", folder);
    tap_ok(chdir("/") == 0 && system(command) == 0, "the files are removed");
    return tap_done();
}
