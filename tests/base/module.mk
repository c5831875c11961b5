# The tests of src/base.
BASE_CASES = \
	%D%/core_set_test.c \
	%D%/file_test.c \
	%D%/float16_test.c \
	%D%/json_test.c \
	%D%/output_file_test.c \
	%D%/random_test.c \
	%D%/text_test.c
check_PROGRAMS += base_test
TESTS += $(BASE_CASES)
base_test_SOURCES = $(BASE_CASES) $(CASES_MAIN)
base_test_LDADD = $(BASE_LIBS)
# the pool without futexes
check_PROGRAMS += pool_portable_test
TESTS += pool_portable_test
pool_portable_test_SOURCES = tests/threads/pool_test.c $(CASES_MAIN) src/base/threads/futex.c src/base/threads/pool.c
pool_portable_test_CPPFLAGS = $(AM_CPPFLAGS) -DTINCA_WITHOUT_FUTEX
pool_portable_test_LDADD = $(BASE_LIBS)
