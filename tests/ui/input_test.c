/* Tests how bytes become keys: sequences known and unknown, whole, in pieces and late; pastes. */
#include "tap.h"
#include "ui/terminal/input.h"
#include "ui/terminal/keys.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static struct input input;
static double now;

static void put(const char *bytes)
{
    input_put(&input, bytes, strlen(bytes), now);
}

/* Returns the keys that are decoded now, as text: letters as they are, others as [number]. */
static const char *keys(void)
{
    static char text[512];
    size_t used = 0;
    text[0] = '\0';
    for (int key; (key = input_key(&input, now)) != UI_NONE && used < sizeof text - 16;)
        used += (size_t)snprintf(text + used, sizeof text - used,
                                 key > ' ' && key < 127 ? "%c" : "[%d]", key);
    return text;
}

/* Returns the keys of bytes that arrive at once, up to a long time later. */
static const char *keys_of(const char *bytes)
{
    static char text[512];
    input = (struct input){0};
    put(bytes);
    snprintf(text, sizeof text, "%s", keys());
    now += 10;
    strncat(text, keys(), sizeof text - strlen(text) - 1);
    now += 10;
    return text;
}

static const char *name(int key)
{
    static char text[16];
    snprintf(text, sizeof text, "[%d]", key);
    return text;
}

static void test_known(void)
{
    static const struct {
        const char *bytes;
        int key;
    } cases[] = {{"\033[A", UI_UP},         {"\033OB", UI_DOWN},     {"\033[1~", UI_HOME},
                 {"\033[7~", UI_HOME},      {"\033OH", UI_HOME},     {"\033[4~", UI_END},
                 {"\033[F", UI_END},        {"\033[3~", UI_DELETE},  {"\033[5~", UI_PAGE_UP},
                 {"\033[6~", UI_PAGE_DOWN}, {"\033[Z", UI_BACK_TAB}, {"\033[11~", UI_F1},
                 {"\033OP", UI_F1},         {"\033[[A", UI_F1},      {"\033[15~", UI_F5},
                 {"\033[[E", UI_F5},        {"\033[20~", UI_F9},     {"\033[21~", UI_F10},
                 {"\033[1;1A", UI_UP},      {"\177", UI_BACKSPACE},  {"\b", UI_BACKSPACE},
                 {"\r", UI_ENTER},          {"\n", UI_ENTER},        {"\022", UI_CTRL_R},
                 {"\303\251", 0xe9}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        tap_ok(strcmp(keys_of(cases[i].bytes), name(cases[i].key)) == 0,
               "sequence %zu is a known key", i);
}

static void test_unknown(void)
{
    static const char *const cases[] = {"\033[99~",
                                        "\033[1;5A",
                                        "\033[2~",
                                        "\033Ow",
                                        "\033O5P",
                                        "\033[<35;10;20M",
                                        "\033[<0;10;20m",
                                        "\033[I",
                                        "\033[?62;4;22c",
                                        "\033[27;5;9~",
                                        "\033[1;2Z",
                                        "\033]10;rgb:ff/ff/ff\a",
                                        "\033_Gi=31;OK\033\\",
                                        "\033P1$r0m\033\\",
                                        "\033[ q",
                                        "\033[M#!!",
                                        "\033[32;5;6M",
                                        "\033[201~",
                                        "\033[1M"};
    char text[64];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(text, sizeof text, "%sx", cases[i]);
        tap_ok(strcmp(keys_of(text), "x") == 0, "unknown sequence %zu is dropped as a whole", i);
    }
    char all[2 * INPUT_BYTES + 8] = "\033[";
    memset(all + 2, '1', 2 * INPUT_BYTES);
    strcpy(all + 2 + 2 * INPUT_BYTES, "Ax");
    input = (struct input){0};
    for (size_t at = 0, length = strlen(all); at < length;) {
        at += input_put(&input, all + at, length - at, now);
        if (at < length)
            tap_ok(keys()[0] == '\0', "a sequence longer than the buffer gives no key");
    }
    tap_ok(strcmp(keys(), "x") == 0, "and is dropped as a whole, too");
    tap_ok(strcmp(keys_of("\033[12"), "") == 0, "a sequence that never ends is dropped");
    tap_ok(strcmp(keys_of("\033[1\002x"), "[2]x") == 0,
           "a control character ends a sequence and is a key of its own");
    tap_ok(strcmp(keys_of("\377x"), "x") == 0, "a byte that is no character is dropped");
}

static void test_mouse(void)
{
    input = (struct input){0};
    put("\033[<0;3;4M");
    tap_ok(strcmp(keys(), name(UI_CLICK)) == 0, "a press is a click");
    put("\033[<32;5;6M");
    tap_ok(strcmp(keys(), name(UI_DRAG)) == 0 && input.row == 5 && input.column == 4,
           "a move with the button held is a drag, with its position");
    put("\033[<0;5;6m\033[<35;5;6M\033[<2;5;6M\033[<2;5;6m");
    tap_ok(keys()[0] == '\0', "releases, moves without a button and other buttons are no keys");
    put("\033[<65;7;8M");
    tap_ok(strcmp(keys(), name(UI_WHEEL_DOWN)) == 0 && input.row == 7 && input.column == 6,
           "the wheel has a position, too");
    put("\033[M !!\033[M@!!\033[M#!!");
    const char *old = keys();
    tap_ok(strlen(old) == strlen(name(UI_CLICK)) + strlen(name(UI_DRAG)),
           "older terminals report a click, a drag and a release: %s", old);
}

static void test_pieces(void)
{
    static const char *const cases[] = {"\033[1~", "\033OH", "\033[[A", "\033[<0;12;7M"};
    static const int wanted[] = {UI_HOME, UI_HOME, UI_F1, UI_CLICK};
    for (size_t i = 0; i < 4; i++) {
        const char *last = "";
        input = (struct input){0};
        for (const char *byte = cases[i]; *byte; byte++) {
            input_put(&input, byte, 1, now);
            last = keys();
            now += *byte == '\033' ? 0.01 : 0.3;
        }
        tap_ok(strcmp(last, name(wanted[i])) == 0, "sequence %zu in single bytes is one key", i);
    }
    tap_ok(input.row == 6 && input.column == 11, "a click has its position");
    input = (struct input){0};
    input_define(&input, "\033A", UI_UP);
    put("\033A");
    tap_ok(strcmp(keys(), name(UI_UP)) == 0, "a sequence of the terminal's own is a key");
    put("\303");
    tap_ok(keys()[0] == '\0', "half a character is no key");
    put("\251");
    tap_ok(strcmp(keys(), "[233]") == 0, "its second half completes it");
}

static void test_escape(void)
{
    input = (struct input){0};
    put("\033");
    tap_ok(keys()[0] == '\0' && input_seconds(&input, now) < 0.05,
           "an ESC alone waits a short time");
    now += 0.03;
    tap_ok(strcmp(keys(), "[27]") == 0 && isinf(input_seconds(&input, now)), "then it is Esc");
    now += 0.2;
    put("[1~x");
    tap_ok(input_key(&input, now) == UI_HOME && strcmp(keys(), "x") == 0,
           "the rest of a sequence whose ESC came long before is not typed");
    input = (struct input){0};
    put("\033");
    now += 0.03;
    keys();
    now += 0.2;
    put("[");
    tap_ok(keys()[0] == '\0', "a '[' soon after Esc waits a short time");
    now += 0.1;
    tap_ok(strcmp(keys(), "[") == 0, "then it was typed");
    put("[");
    tap_ok(strcmp(keys(), "[") == 0, "the next one is typed at once");
    put("\033");
    now += 0.03;
    keys();
    now += 2;
    put("[1~");
    tap_ok(strcmp(keys(), "[1~") == 0, "long after Esc such characters are typed");
    tap_ok(strcmp(keys_of("\033\033[A"), "[27][1114112]") == 0, "Esc and Up are two keys");
    tap_ok(strcmp(keys_of("\033x"), "[27]x") == 0, "Esc and a letter are two keys");
    tap_ok(strcmp(keys_of("\033P"), "[27]P") == 0, "also if a control string could begin so");
}

static void test_paste(void)
{
    char wanted[32];
    snprintf(wanted, sizeof wanted, "%sx", name(UI_PASTE));
    tap_ok(strcmp(keys_of("\033[200~q\033[201~x"), wanted) == 0, "a paste is one key");
    tap_ok(strcmp(input.paste, "q") == 0, "with its text");
    keys_of("\033[200~one\r\ntwo\tthree\033[31m\001\302\233\342\200\256\033[201~");
    tap_ok(strcmp(input.paste, "one two three[31m") == 0,
           "a line end is a space, characters that cannot be shown are removed: %s", input.paste);
    keys_of("\033[200~\n one \r\r\n\ttwo\rthree  four\n\n\033[201~");
    tap_ok(strcmp(input.paste, "one two three  four") == 0,
           "line ends and the blanks around them are one space, none at the ends: %s", input.paste);
    keys_of("\033[200~\r\n\033[201~");
    tap_ok(strcmp(input.paste, "") == 0, "a line end alone is nothing");
    keys_of("\033[200~\351t\303\251\033[201~");
    tap_ok(strcmp(input.paste, "\351t\303\251") == 0, "bytes of another character set stay");
    input = (struct input){0};
    bool quiet = true;
    for (const char *byte = "\033[200~ab\033[20c\033[201"; *byte; byte++) {
        now += 0.4;
        input_put(&input, byte, 1, now);
        quiet = quiet && (input_key(&input, now) == UI_NONE || byte[0] == '\033');
    }
    tap_ok(quiet, "a paste in single bytes is no key before its end");
    put("~");
    tap_ok(input_key(&input, now) == UI_PASTE && strcmp(input.paste, "ab[20c") == 0,
           "then it is one, with its text: %s", input.paste);
    input = (struct input){0};
    put("\033[200~lost");
    tap_ok(keys()[0] == '\0' && input_seconds(&input, now) > 1, "a paste without an end waits");
    now += 6;
    tap_ok(input_key(&input, now) == UI_PASTE && strcmp(input.paste, "lost") == 0,
           "and ends when nothing more arrives");
    input = (struct input){0};
    put("\033[200~");
    keys();
    char chunk[201];
    memset(chunk, 'z', 200);
    chunk[200] = '\0';
    for (int i = 0; i < 40; i++) {
        put(chunk);
        keys();
    }
    put("\033[201~y");
    tap_ok(input_key(&input, now) == UI_PASTE && strlen(input.paste) == INPUT_PASTE_BYTES - 1 &&
               strcmp(keys(), "y") == 0,
           "a long paste is cut, and what follows it is typed");
}

TEST_CASE(input_test)
{
    if (!setlocale(LC_ALL, "C.UTF-8")) {
        tap_skip("the locale C.UTF-8 is missing");
        return tap_done();
    }
    test_known();
    test_unknown();
    test_mouse();
    test_pieces();
    test_escape();
    test_paste();
    return tap_done();
}
