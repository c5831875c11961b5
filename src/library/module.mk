# libtinca.so and libtinca.a, without libtool, which would compile every file twice: the archives above
# are compiled as position-independent code with hidden symbols, of which the program consists as well.
# libtinca.a has one object, in which all symbols but tinca_* are local.
EXTRA_DIST += %D%/libtinca.map
if LIBRARY
include_HEADERS = include/tinca.h
noinst_LIBRARIES += liblibrary.a
liblibrary_a_SOURCES = \
	%D%/error.c \
	%D%/library.h \
	%D%/model.c \
	%D%/picture.c \
	%D%/session.c
liblibrary_a_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/include
liblibrary_a_CFLAGS = $(LIBRARY_CFLAGS)
LIBTINCA_ARCHIVES = -Wl,--whole-archive liblibrary.a -Wl,--no-whole-archive libsaved.a libdata.a \
	libengine.a $(KERNEL_LIBS) libengine.a libbase.a
LIBTINCA_INPUTS = liblibrary.a libsaved.a libdata.a libengine.a $(KERNEL_LIBS) libbase.a
libtinca.so.1.0.0: $(LIBTINCA_INPUTS) %D%/libtinca.map
	$(AM_V_CCLD)$(CC) $(CFLAGS) $(TINCA_LDFLAGS) $(LDFLAGS) -shared -Wl,-soname,libtinca.so.1 \
		-Wl,--version-script,$(srcdir)/%D%/libtinca.map -Wl,--gc-sections -Wl,--as-needed -o $@ $(LIBTINCA_ARCHIVES) \
		$(CJSON_LIBS) $(OPENBLAS_LIBS) $(ZLIB_LIBS) $(LIBS)
libtinca.a: $(LIBTINCA_INPUTS)
	$(AM_V_AR)$(CC) -r -nostdlib $(RELOCATABLE_LDFLAGS) -o libtinca.o $(LIBTINCA_ARCHIVES) && \
	$(OBJCOPY) --localize-hidden libtinca.o && rm -f $@ && $(AR) cr $@ libtinca.o && rm -f libtinca.o
libraryexecdir = $(libdir)
libraryexec_DATA = libtinca.a libtinca.so.1.0.0
pkgconfigdir = $(libdir)/pkgconfig
pkgconfig_DATA = libtinca.pc
CLEANFILES += libtinca.a libtinca.so.1.0.0 libtinca.o
install-exec-hook:
	cd '$(DESTDIR)$(libdir)' && ln -sf libtinca.so.1.0.0 libtinca.so.1 && ln -sf libtinca.so.1 libtinca.so
uninstall-hook:
	rm -f '$(DESTDIR)$(libdir)/libtinca.so.1' '$(DESTDIR)$(libdir)/libtinca.so'
endif
