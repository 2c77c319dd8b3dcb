# SPDX-License-Identifier: MIT
# make install, make uninstall and make deb.

load helpers

# The package is made once, for all that look at it.
setup_file()
{
	unset MAKEFLAGS MAKELEVEL MFLAGS
	made_package=$BATS_FILE_TMPDIR/made
	export made_package
	if command -v dpkg-deb >/dev/null && command -v dpkg-shlibdeps >/dev/null; then
		timeout 300 make -C "$root" --no-print-directory deb DEBFULLNAME=Somebody DEBEMAIL=somebody@debian.org \
			>"$made_package" 2>&1 || {
			cat "$made_package"
			return 1
		}
	fi
}

setup()
{
	enter_test_folder
	unset MAKEFLAGS MAKELEVEL MFLAGS
}

make_it()
{
	timeout 300 make -C "$root" --no-print-directory "$@" >made 2>&1 || {
		cat made
		return 1
	}
}

# check_bash_completion FOLDER: bash's package finds the completion there by itself
check_bash_completion()
{
	local package=/usr/share/bash-completion/bash_completion

	[ -e "$package" ] || return 0
	XDG_DATA_DIRS=$1 bash --norc -c '
		. "$1"
		_completion_loader profile
		complete -p profile' bash "$package" >found
	expect found <<<'complete -F _profile profile'
}

@test "make install and make uninstall" {
	make_it install DESTDIR="$PWD/dest" prefix=/opt/p
	(cd dest && find . -type f | sort) >installed
	for file in bin/profile share/man/man1/profile.1 share/bash-completion/completions/profile \
		share/zsh/site-functions/_profile share/fish/vendor_completions.d/profile.fish \
		share/doc/profile/README.md share/doc/profile/docs/troubleshooting.md; do
		expect_line installed "^\./opt/p/$file\$"
	done
	run_command dest/opt/p/bin/profile --version
	expect_status 0
	run_command dest/opt/p/bin/profile --print-injection-path
	expect stdout <<<"$PWD/dest/opt/p/lib/profile-injection/libprofile_cupti.so"
	check_bash_completion "$PWD/dest/opt/p/share"

	# what belongs to others stays
	touch dest/opt/p/share/doc/profile/notes
	make_it uninstall DESTDIR="$PWD/dest" prefix=/opt/p
	find dest -type f >left
	expect left <<<dest/opt/p/share/doc/profile/notes
	rm dest/opt/p/share/doc/profile/notes
	make_it uninstall DESTDIR="$PWD/dest" prefix=/opt/p
	expect_no_file dest/opt/p/share/doc/profile
}

# Links of installed pages lead to installed pages.
@test "installed pages link to each other" {
	make_it install DESTDIR="$PWD/dest" prefix=/usr
	cd dest/usr/share/doc/profile
	for page in README.md docs/*.md; do
		grep -oE '\]\([^)# ]+' "$page" | sed 's/^](//' | grep -vE '^(https?|mailto):' |
			while read -r link; do
				[ -e "$(dirname "$page")/$link" ] || echo "$page: $link"
			done
	done >broken
	expect_empty broken
}

@test "make deb: a package that installs, works and goes away" {
	needs_command dpkg-deb
	needs_command dpkg-shlibdeps
	version=$(sed -n 's/.*PROFILE_VERSION "\(.*\)"/\1/p' "$root/profiler/base/version.h")
	package=$root/build/profile_$version-1_$(dpkg --print-architecture).deb
	expect_line "$made_package" "^build/${package##*/}\$"

	dpkg-deb --field "$package" >control
	expect_line control '^Package: profile$'
	expect_line control "^Version: $version-1\$"
	expect_line control '^Depends: .*libc6 \(>= .*libdw1 '
	expect_line control '^Maintainer: Somebody <somebody@debian.org>$'
	dpkg-deb --contents "$package" >contents
	expect_line contents '^-rwxr-xr-x root/root .* ./usr/bin/profile$'
	for file in man/man1/profile.1.gz bash-completion/completions/profile zsh/vendor-completions/_profile \
		fish/vendor_completions.d/profile.fish doc/profile/copyright doc/profile/changelog.gz \
		doc/profile/changelog.Debian.gz; do
		expect_line contents "^-rw-r--r-- root/root .* ./usr/share/$file\$"
	done

	# into a folder with a database of its own: nothing here changes
	mkdir -p there/var/lib/dpkg/info there/var/lib/dpkg/updates
	touch there/var/lib/dpkg/status
	dpkg --root="$PWD/there" --force-depends --force-not-root --log="$PWD/log" -i "$package"
	(cd there && md5sum --quiet -c var/lib/dpkg/info/profile.md5sums)
	run_command there/usr/bin/profile --version
	expect stdout <<<"profile $version"
	needs_root
	run_command there/usr/bin/profile -o x.folded --unit ns "$workloads/inference" 20
	expect_status 0
	grep -q 'cudaLaunchKernel;\[GPU_Kernel\]' x.folded
	dpkg --root="$PWD/there" --force-not-root --log="$PWD/log" --purge profile
	find there -path there/var -prune -o -type f -print >left
	expect_empty left
}

@test "lintian has nothing to say" {
	needs_command lintian
	needs_command dpkg-shlibdeps
	lintian --allow-root --fail-on error,warning "$root"/build/profile_*.deb
}
