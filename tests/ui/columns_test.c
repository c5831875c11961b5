/* Tests the width of text: characters of one and of two columns, combining marks, invalid bytes. */
#include "tap.h"

#include "ui/terminal/columns.h"

#include <locale.h>
#include <stdio.h>
#include <string.h>

static bool fits(const char *text, size_t columns, const char *expected, size_t used)
{
    char out[64];
    size_t taken = columns_fit(text, columns, out, sizeof out);
    return taken == used && strcmp(out, expected) == 0;
}

static bool value_fits(const char *text, size_t columns, const char *expected)
{
    char out[64];
    const size_t used = columns_fit_value(text, columns, "~", out, sizeof out);
    if (strcmp(out, expected) != 0)
        printf("# %s in %zu columns: %s\n", text, columns, out);
    return used == columns_of(out) && used <= columns && strcmp(out, expected) == 0;
}

static bool name_fits(const char *text, size_t columns, const char *expected)
{
    char out[64];
    return columns_fit_middle(text, columns, "~", out, sizeof out) == columns_of(expected) &&
           strcmp(out, expected) == 0;
}

/* Returns whether names that differ stay different and names that are equal stay equal. */
static bool stay_different(const char *const *names, size_t count, size_t columns)
{
    char out[8][64];
    columns_fit_names(names, count, columns, "~", out[0], sizeof out[0]);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            if ((strcmp(names[i], names[j]) == 0) != (strcmp(out[i], out[j]) == 0) ||
                columns_of(out[i]) > columns) {
                printf("# %s and %s: %s and %s\n", names[i], names[j], out[i], out[j]);
                return false;
            }
    return true;
}

static void test_names(void)
{
    static const char *const layers[] = {"stage1.0.branch.conv2", "stage1.0.branch.conv1",
                                         "stage1.1.branch.conv2", "stage1.0.other.conv2",
                                         "stage1.0.branch.conv2", "fc"};
    static const char *const middles[] = {"block-a-long-name-end", "block-b-long-name-end",
                                          "block-c-long-name-end"};
    static const char *const equal_ends[] = {"aaaaaaaaaaXaaaaaaaaaa", "aaaaaaaaaaYaaaaaaaaaa",
                                             "aaaaaaaaaaZaaaaaaaaaa", "aaa~aaa"};
    tap_ok(name_fits("stage1.0.branch.conv2", 14, "stage1.~.conv2") && name_fits("fc", 2, "fc"),
           "a name that is too long loses its middle");
    tap_ok(name_fits("stage", 1, "~") && name_fits("stage", 0, ""), "also in a single column");
    tap_ok(stay_different(layers, 6, 14) && stay_different(layers, 6, 12),
           "names of layers stay different, equal ones stay equal");
    char out[3][64];
    static const char *const hidden[] = {"hidden.1.activation", "hidden.2.activation", "output"};
    columns_fit_names(hidden, 3, 13, "~", out[0], sizeof out[0]);
    tap_ok(strcmp(out[0], "hidden.1~tion") == 0 && strcmp(out[1], "hidden.2~tion") == 0,
           "what distinguishes them is kept: %s, %s", out[0], out[1]);
    columns_fit_among(hidden, 3, 1, 13, "~", out[0], sizeof out[0]);
    tap_ok(strcmp(out[0], "hidden.2~tion") == 0, "also if one of them is asked for: %s", out[0]);
    tap_ok(stay_different(middles, 3, 12), "also names that differ near their beginning");
    tap_ok(stay_different(equal_ends, 4, 7), "also names that differ only in their middle");
}

static bool text_fits(const char *text, size_t columns, const char *expected)
{
    char out[64];
    return columns_fit_text(text, columns, "~", out, sizeof out) == columns_of(expected) &&
           strcmp(out, expected) == 0;
}

static void test_values(void)
{
    tap_ok(text_fits("norm 3.576e-05", 13, "norm ~") && text_fits("norm 3.576e-05", 8, "norm ~"),
           "a text is not cut within a number");
    tap_ok(text_fits("resnet20", 7, "resnet2") && text_fits("batch 64, lr 0.1", 8, "batch 64") &&
               text_fits("20261120-111500", 11, "20261120~"),
           "but at its end, and within a name");
    tap_ok(value_fits("3.576e-05", 8, "3.58e-05") && value_fits("3.576e-05", 5, "4e-05"),
           "a number that is too long loses digits, never its exponent");
    tap_ok(value_fits("12.25 MiB", 8, "12.2 MiB") && value_fits("12.25 MiB", 6, "12 MiB"),
           "a unit stays");
    tap_ok(value_fits("-0.1206", 6, "-0.121"), "a sign stays, and the rest is rounded");
    tap_ok(value_fits("640 of 1000", 10, "640 of~") && value_fits("640 of 1000", 6, "640~"),
           "words that do not fit give way to a mark");
    tap_ok(value_fits("431,080", 5, "#####") && value_fits("3.576e-05", 4, "####"),
           "a number that cannot be shortened is not shown as another one");
    tap_ok(value_fits("0.1199", 6, "0.1199"), "a value that fits stays");
}

TEST_CASE(columns_test)
{
    static const char *const wide = "\346\227\245\346\234\254";      /* two ideographs */
    static const char *const combined = "e\314\201poca";             /* e and an acute accent */
    static const char *const fish = "\360\237\220\237";              /* an emoji */
    static const char *const stacked = "a\314\200\314\201\314\202b"; /* three marks on one letter */
    char line[64];
    if (!setlocale(LC_CTYPE, "C.UTF-8")) {
        tap_skip("there is no locale C.UTF-8");
        return tap_done();
    }
    tap_ok(columns_of("\303\251poca") == 5, "an accented letter takes one column");
    tap_ok(columns_of(combined) == 5 && columns_of(stacked) == 2, "combining marks take none");
    tap_ok(columns_of(wide) == 4 && columns_of(fish) == 2, "ideographs and emoji take two");
    tap_ok(columns_of("\377a\001") == 3, "a character that cannot be shown has the width of '?'");
    tap_ok(fits(wide, 3, "\346\227\245", 2), "a wide character is not cut in half");
    tap_ok(fits(combined, 1, "e\314\201", 1), "a combining mark stays with its letter");
    tap_ok(fits("a\377b", 3, "a?b", 3), "an invalid byte is shown as '?'");
    tap_ok(fits(fish, 1, "", 0), "characters that do not fit are left out");
    tap_ok(columns_after(stacked, 0) == 7 && columns_before(stacked, 7) == 0,
           "the cursor moves over a letter with its marks");
    const char *rest = columns_wrap("\346\227\245\346\234\254 ab", 5, line, sizeof line);
    tap_ok(rest && strcmp(line, wide) == 0 && strcmp(rest, "ab") == 0,
           "lines are as long as their columns allow");
    rest = columns_wrap(wide, 1, line, sizeof line);
    tap_ok(rest && strcmp(line, "\346\227\245") == 0,
           "a character wider than the line does not stop the wrapping");
    tap_ok(columns_lines(wide, 2) == 2, "lines are counted by columns");
    rest = columns_wrap("a\nb c", 3, line, sizeof line);
    tap_ok(rest && columns_of(line) == 3 && strcmp(rest, "c") == 0 &&
               columns_lines("a\n\nb", 9) == 1,
           "a line feed does not begin a new line");
    test_names();
    test_values();
    return tap_done();
}
