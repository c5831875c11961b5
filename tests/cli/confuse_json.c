/* confuse_json FILE [NUMBER]: without NUMBER, prints in how many ways a JSON file can be changed
 * (confuse.h); with it, prints the file with that change. */
#include "confuse.h"

int main(int argc, char **argv)
{
    const size_t count = argc > 1 ? confuse_read(argv[1]) : 0;
    const size_t number = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    if (number >= count)
        return 2;
    if (argc == 2)
        return printf("%zu\n", count) < 0;
    confuse_write(number, stdout);
    return 0;
}
