# SPDX-License-Identifier: MIT
# Completion in shells: the scripts are loaded and asked, as a Tab asks them.

load helpers

setup()
{
	enter_test_folder
	# a command with arguments of its own, and files
	mkdir -p bin 'a folder'
	printf '#!/bin/sh\n' >bin/fruitsalad
	chmod +x bin/fruitsalad
	touch data.one data.two 'a folder/x'
	PATH=$PWD/bin:$PATH
}

load_script()
{
	needs_command "$1"
	"$profile" --completion "$1" >script
	test -s script
}

# Each of these prints what a shell offers for a line, one per line.

# ask_bash LINE: readline's splitting of words, which ends one at "=", too
ask_bash()
{
	bash --norc -c '
		if [ -n "$1" ]; then . "$1"; fi
		. ./script
		complete -W "apple banana" fruitsalad
		COMP_LINE=$2 COMP_POINT=${#2} COMP_TYPE=9
		read -ra words <<<"${2//=/ = }"
		COMP_WORDS=("${words[@]}")
		if [[ $2 == *" " || $2 == *= && ${words[-1]} != = ]]; then COMP_WORDS+=(""); fi
		COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
		_profile profile "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}" 2>/dev/null
		printf "%s\n" "${COMPREPLY[@]}"' bash "$bash_completion" "$1" | sed 's/ *$//' | grep . | sort -u
}

ask_fish()
{
	HOME=$PWD XDG_CONFIG_HOME=$PWD fish --no-config -c '
		complete -c fruitsalad -x -a "apple banana"
		source script
		complete -C "$argv[1]"' "$1" | cut -f1 | sort -u
}

# zsh completes in its line editor only: one runs on a pseudo-terminal, where compadd tells what it gets. One for all
# lines of a test: it takes them from the pipe `lines`, and answers each in the pipe `answers`.
start_zsh()
{
	mkdir -p functions
	cp script functions/_profile
	cat >inner <<-'END'
		PROMPT= PS2=
		fpath=($PWD/functions $fpath)
		autoload -U compinit
		compinit -D -u
		_fruitsalad() { compadd apple banana; }
		compdef _fruitsalad fruitsalad
		compadd()
		{
			local -a hits prefix hidden
			if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then
				builtin compadd "$@"
				return
			fi
			builtin compadd -A hits "$@"
			zparseopts -E P:=prefix p:=hidden
			print -rl -- $IPREFIX${prefix[2]}${hidden[2]}$^hits >>offers
			builtin compadd "$@"
		}
		zle_done() { zle kill-buffer; print done >offers.end; }
		zle -N zle_done
		bindkey '^I' complete-word
		bindkey '^X' zle_done
		zstyle ':completion:*' list-max 10000
		LISTMAX=10000
	END
	mkfifo lines answers
	HOME=$PWD timeout 500 zsh -f -c '
		zmodload zsh/zpty
		zpty shell zsh -f -i
		zpty -w shell "source ./inner"
		zpty -w shell "touch ready"
		until [[ -e ready ]]; do sleep 0.05; done
		while IFS= read -r line; do
			rm -f offers.end
			: >offers
			zpty -n -w shell "$line"$'"'\t\x18'"'
			until [[ -e offers.end ]]; do zpty -r -t shell ignored || sleep 0.01; done
			cat offers
			echo end of offers
		done
		zpty -d shell' zsh <lines >answers 2>/dev/null 3>&- &
	exec {zsh_lines}>lines {zsh_answers}<answers
}

ask_zsh()
{
	local line

	if [ -z "${zsh_lines-}" ]; then start_zsh; fi
	echo "$1" >&"$zsh_lines"
	while IFS= read -r line <&"$zsh_answers" && [ "$line" != 'end of offers' ]; do
		echo "$line"
	done >offered.raw
	grep . offered.raw | sort -u
}

# offers SHELL LINE WORD...: these and no other
offers()
{
	local shell=$1 line=$2

	shift 2
	printf '%s\n' "$@" | grep . | sort -u >expected || true
	"ask_$shell" "$line" >offered || true
	diff expected offered || {
		echo "$shell: $line"
		return 1
	}
}

# includes SHELL LINE WORD...: these, and maybe others
includes()
{
	local shell=$1 line=$2 word

	shift 2
	"ask_$shell" "$line" >offered || true
	for word in "$@"; do
		grep -qxF -- "$word" offered || {
			echo "$shell: $line: no $word in"
			cat offered
			return 1
		}
	done
}

# What all shells do, whatever their ways.
check_shell()
{
	local shell=$1

	offers "$shell" 'profile --uni' --unified-memory --unit
	offers "$shell" 'profile --unit us --py' --python-lines
	offers "$shell" 'profile -gp' -gpu-only
	offers "$shell" 'profile --gp' --gpu-only
	offers "$shell" 'profile --unit ' samples us ns
	offers "$shell" 'profile -q --unit s' samples
	offers "$shell" 'profile --format s' svg speedscope
	offers "$shell" 'profile --help p' privilege python
	offers "$shell" 'profile -o data.' data.one data.two
	offers "$shell" 'profile --save-input data.o' data.one
	offers "$shell" 'profile frui' fruitsalad
	offers "$shell" 'profile -o x -F 99 frui' fruitsalad
	offers "$shell" 'profile -- frui' fruitsalad
	# its own arguments, not ours: also where they look alike
	offers "$shell" 'profile fruitsalad ' apple banana
	offers "$shell" 'profile --unit us fruitsalad b' banana
	offers "$shell" 'profile --unit=us -v fruitsalad b' banana
	offers "$shell" 'profile -q -- fruitsalad a' apple
	# files in place of a command
	offers "$shell" 'profile --diff data.' data.one data.two
	offers "$shell" 'profile --diff data.one data.t' data.two
	offers "$shell" 'profile --diff data.one --widths b' before
	offers "$shell" 'profile --from data.one data.t' data.two
	offers "$shell" 'profile --baseline data.o' data.one
	mapfile -t names < <("$profile" --help | grep -oE ' --[a-z-]+ ' | tr -d ' ' | sort -u)
	test ${#names[@]} -gt 10
	includes "$shell" 'profile --' "${names[@]}"
}

@test "bash" {
	bash_completion=
	load_script bash
	bash -n script
	for file in /usr/share/bash-completion/bash_completion /etc/bash_completion; do
		if [ -e "$file" ]; then
			bash_completion=$file
			break
		fi
	done
	[ -n "$bash_completion" ] || skip 'bash-completion is not installed'
	check_shell bash
	offers bash 'profile --unit=' samples us ns
	offers bash 'profile --unit=u' us
	offers bash 'profile --stalls=e' exact
	offers bash 'profile --stalls frui' fruitsalad
	offers bash 'profile --by process,thr' process,thread
	offers bash 'profile --by process,thread,device,s' process,thread,device,stream
	offers bash 'profile --freq '
	offers bash 'profile -o a' 'a folder'
}

@test "bash without the package bash-completion" {
	bash_completion=
	load_script bash
	offers bash 'profile --uni' --unified-memory --unit
	offers bash 'profile -q frui' fruitsalad
	offers bash 'profile fruitsalad data.o' data.one
}

@test "zsh" {
	load_script zsh
	zsh -n script
	check_shell zsh
	offers zsh 'profile --unit=u' --unit=us
	offers zsh 'profile --stalls=e' --stalls=exact
	offers zsh 'profile --stalls frui' fruitsalad
	offers zsh 'profile --by process,thr' process,thread
}

@test "fish" {
	load_script fish
	fish -n script
	check_shell fish
	offers fish 'profile --unit=u' --unit=us
	offers fish 'profile --stalls=e' --stalls=exact
	offers fish 'profile --stalls frui' fruitsalad
	includes fish 'profile --by process,th' process,thread
}

@test "an unknown shell" {
	run_profile --completion tcsh
	expect_status 125
	expect_empty stdout
	expect stderr <<-END
		profile: --completion is one of bash, zsh, fish, not 'tcsh'
		$try_help
	END
}

@test "shellcheck reads the script of bash" {
	needs_command shellcheck
	load_script bash
	shellcheck --shell=bash script
}
