# package.mk -- what is handed on: a source archive, Debian packages, and the
# check of the library's ABI. Included by the Makefile.
DIST := $(BUILD)/chela-$(VERSION).tar.gz

.PHONY: dist deb abi
dist: ## a source archive of HEAD, the same bytes for the same commit
	@mkdir -p $(BUILD)
	git archive --format=tar --prefix=chela-$(VERSION)/ HEAD | gzip -9n > $(DIST)
	@echo '  $(DIST)'
deb: dist ## Debian packages, into BUILD/deb
	@scripts/install-deps build package
	@packaging/deb $(DIST) $(BUILD)/deb
abi: $(BUILD)/libchela.so ## write packaging/abi from the library and its headers
	@packaging/abi-of $(BUILD) > packaging/abi
