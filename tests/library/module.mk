# The tests of libtinca.
EXTRA_DIST += %D%/library_test.sh %D%/scores.c
if LIBRARY
LIBRARY_CASES = \
	%D%/library_test.c
check_PROGRAMS += library_test
TESTS += $(LIBRARY_CASES)
library_test_SOURCES = $(LIBRARY_CASES) $(CASES_MAIN) tests/session_files.h
library_test_LDADD = liblibrary.a $(STUDIES_LIBS)
library_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/include
TESTS += %D%/library_test.sh
endif
