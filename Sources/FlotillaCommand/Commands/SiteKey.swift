import Flotilla

/// `flotilla export-site-key` and `import-site-key`: the key that rules the site.
enum SiteKey {
  private static let file = Parameter(name: "FILE", help: "the file with the key")

  static let export = Command(
    name: "export-site-key",
    summary: "writes the site key into a file, to be printed or locked away",
    discussion: """
      Who has the key rules the site: it makes admins and ends them. If the machine
      that has it is lost and it was not exported, nobody can be made an admin any
      more. The file is new and readable by its owner alone; take it off this
      machine.
      """,
    parameters: [.database, file],
    options: [],
    body: { call async throws(FlotillaError) -> ExitStatus in
      let file = call.arguments.text("FILE") ?? ""
      try await call.replica.exportSiteKey(to: file)
      call.output.result("wrote the site key to \(printable(file))")
      call.output.remark("print it or put it on a stick, lock it away, and remove the file here")
      return .done
    })

  static let `import` = Command(
    name: "import-site-key",
    summary: "takes the site key over: this node becomes an admin",
    discussion: """
      For a member of the site, when the machine that had the key is lost, or to have
      it in two places.
      """,
    parameters: [.database, file],
    options: [],
    body: { call async throws(FlotillaError) -> ExitStatus in
      try await call.replica.importSiteKey(from: call.arguments.text("FILE") ?? "")
      call.output.result("this node has the site key now, and is an admin")
      return .done
    })
}
