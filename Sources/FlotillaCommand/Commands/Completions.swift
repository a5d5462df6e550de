import Flotilla

/// `flotilla completions`: how a shell completes the program's words.
enum Completions {
  static let command = Command(
    name: "completions",
    summary: "prints what lets a shell complete commands and tables",
    discussion: """
      The package brings it along, and so does `make install`. Without them, for one
      user of bash, and of fish; zsh reads _flotilla from a folder of its $fpath:

        cd ~/.local/share/bash-completion/completions
        flotilla completions bash > flotilla
        cd ~/.config/fish/completions
        flotilla completions fish > flotilla.fish
      """,
    parameters: [
      Parameter(
        name: "SHELL", kind: .choice(CompletionScript.allCases.map(\.rawValue)),
        help: enumerated(CompletionScript.allCases.map(\.rawValue)))
    ],
    body: { call async throws(FlotillaError) -> ExitStatus in
      let shell = call.arguments.text("SHELL").flatMap(CompletionScript.init)
      call.output.write(shell?.text ?? "")
      return .done
    })
}
