# static.mk -- `make static`: the program as one file, without shared libraries. Included
# by the Makefile. docs/static.md describes what such a program cannot do.
#
# STATIC_MODULES are linked in; no other module can be loaded. A module keeps what it has
# of its own (MODULE_*_ALONE), as a file does; only its chela_module is global.
STATIC_MODULES ?= tls store-sqlite
STATIC := $(BUILD)/static
# Debian has no libuv.a, and calls it so:
STATIC_UV = $(if $(findstring /,$(shell $(CC) -print-file-name=libuv.a)),-luv,-l:libuv_a.a)
STATIC_LIBS = $(patsubst -luv,$(STATIC_UV),$(shell $(PKG_CONFIG) --static --libs $(PKGS) $(foreach m,$(STATIC_MODULES),$(MODULE_$(m)_PKGS)))) $(LIBS)
STATIC_LIST = STATIC_MODULES(X)=$(foreach m,$(STATIC_MODULES),X($(subst -,_,$(m))))

.PHONY: static
static: $(STATIC)/chela $(STATIC)/chela-sandbox ## one program without shared libraries (STATIC_MODULES)

define STATIC_MODULE_RULE
$(STATIC)/$(1).o: $(call objs,$(wildcard src/$(MODULE_$(1)_DIR)/*.c)) $(foreach l,$(MODULE_$(1)_ALONE),$(call archive,$(l))) packaging/static.mk
	$$(call say,ld)
	$$(Q)$$(CC) -r -nostdlib -o $$@ $$(filter %.o %.a,$$^)
	$$(Q)$$(OBJCOPY) --keep-global-symbol=chela_module $$@
	$$(Q)$$(OBJCOPY) --redefine-sym chela_module=chela_module_$(subst -,_,$(1)) $$@
endef
$(foreach m,$(STATIC_MODULES),$(eval $(call STATIC_MODULE_RULE,$(m))))

$(STATIC)/static_modules.o: packaging/static_modules.c packaging/static.mk
	$(call say,cc)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) '-D$(STATIC_LIST)' -c $< -o $@
$(STATIC)/library.o: $(filter-out %/src/io/module_file.o,$(LIB_OBJS)) $(STATIC)/static_modules.o
	$(call say,ld)
	$(Q)$(CC) -r -nostdlib -o $@ $^
	$(Q)$(OBJCOPY) --localize-hidden $@
# The linker warns of functions that look names up; see docs/static.md. No part loads a file:
# static_modules.c answers for dlopen.
$(STATIC)/chela: $(CLI_OBJS) $(STATIC)/library.o $(STATIC_MODULES:%=$(STATIC)/%.o)
	$(call say,link)
	$(Q)$(CC) $(OPT) -static -Wl,--wrap=dlopen $(LDFLAGS) -o $@ $^ $(STATIC_LIBS)
$(STATIC)/chela-sandbox: $(BOX_OBJS) $(call archive,guard) $(call archive,base)
	$(call say,link)
	$(Q)$(CC) $(OPT) -static $(LDFLAGS) -o $@ $^
