/// The lines by which a shell learns to complete: they ask the program, which knows its arguments.
enum CompletionScript: String, CaseIterable {
  case bash
  case zsh
  case fish

  var text: String {
    switch self {
    case .bash: Self.bashText
    case .zsh: Self.zshText
    case .fish: Self.fishText
    }
  }

  /// The words are as they were typed, so backslashes and quotation marks are taken away.
  private static let bashText = """
    # bash completion for flotilla
    _flotilla() {
      local -a words lines
      local word line
      for word in "${COMP_WORDS[@]:1:COMP_CWORD}"; do
        word=${word//[\\\\\\"\\']/}
        words+=("${word/#\\~\\//$HOME/}")
      done
      mapfile -t lines < <("$1" \(Completion.request) "${words[@]}" 2>/dev/null)
      COMPREPLY=()
      for line in "${lines[@]}"; do
        if [[ $line == \(Completion.files) ]]; then
          compopt -o filenames 2>/dev/null
          while IFS= read -r word; do
            case $word in
              *-wal | *-shm | *-flotilla) ;;
              *) COMPREPLY+=("$word") ;;
            esac
          done < <(compgen -f -- "$2")
        else
          COMPREPLY+=("$(printf %q "${line%%$'\\t'*}")")
        fi
      done
    }
    complete -F _flotilla flotilla

    """

  private static let zshText = """
    #compdef flotilla
    _flotilla() {
      local -a lines values
      local line
      lines=("${(@f)$("${words[1]}" \(Completion.request) "${(@Q)words[2,CURRENT-1]}" \\
        "${(Q)PREFIX}" 2>/dev/null)}")
      for line in "${lines[@]}"; do
        if [[ $line == \(Completion.files) ]]; then
          _files -F "*-(wal|shm|flotilla)"
        elif [[ -n $line ]]; then
          values+=("${${line%%$'\\t'*}//:/\\\\:}:${line#*$'\\t'}")
        fi
      done
      (( ${#values} == 0 )) || _describe -t values flotilla values
    }
    if [[ ${funcstack[1]} == _flotilla ]]; then _flotilla "$@"; else compdef _flotilla flotilla; fi

    """

  private static let fishText = """
    # fish completion for flotilla
    function __flotilla_complete
      set -l words (commandline -opc)
      set -l typed (commandline -ct)
      for line in ($words[1] \(Completion.request) $words[2..] "$typed" 2>/dev/null)
        if test "$line" = \(Completion.files)
          __fish_complete_path "$typed" | string match -rv -- '-(wal|shm|flotilla)/?(\\t|$)'
        else
          printf '%s\\n' $line
        end
      end
    end
    complete -c flotilla -f -a '(__flotilla_complete)'

    """
}
