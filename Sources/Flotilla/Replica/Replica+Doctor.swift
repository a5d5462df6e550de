import CLinux
import FoundationEssentials
import Glibc
import Network
import SQLite
import Store

extension Replica {
  /// So many peers are asked for their schema.
  private static let mostAsked = 32

  /// Checks file, schema, permissions, Avahi, port, clocks and peers; each finding with a remedy.
  public func doctor(repair: Bool) async throws(FlotillaError) -> DoctorReport {
    var examination = Examination(path: path)
    if repair { KeyFolder(sidecar).closeToOthers() }
    do {
      _ = try OpeningCheck(path: path, sidecar: sidecar).check()
    } catch {
      examination.add("file", .error, error.message, error.remedy)
      return examination.report
    }
    if let links = HardLinks(sidecar, path: path) {
      examination.add("links", .error, links.text, links.remedy)
    }
    examination.checkPermissions(sidecar)
    examination.checkSiteKey(sidecar)
    try examination.checkInside(sidecar, repair: repair)
    await examination.checkWriting(sidecar)
    await examination.checkDisk(sidecar)
    examination.checkTimeSource()
    await examination.checkDiscovery()
    let reached = await checkNode(&examination)
    try await checkAdmins(&examination, reached: reached)
    return examination.report
  }

  /// What the running node knows of clocks and peers; gives the ids of those that are connected.
  private func checkNode(_ examination: inout Examination) async -> Set<String> {
    do {
      let client = try ControlClient(database: sidecar.database)
      guard let status: StatusReport = try await client.ask(.status(all: true)) else {
        examination.judge(nil)
        let stopped = sidecar.stopped.map {
          ": it was stopped with flotilla stop at \(Node.text($0))"
        }
        examination.add(
          "node", .warning, "no node runs for this database\(stopped ?? "")",
          "Start it with: flotilla run \(shellWord(path)) --background")
        return []
      }
      examination.judge(status.trouble)
      let connected = status.peers.filter { $0.state == .inSync || $0.state == .catchingUp }
      for peer in status.peers where peer.state == .failing {
        examination.add(
          "exchange", .error, "no exchange with \(peer.node) succeeds: \(peer.error ?? "?")",
          peer.remedy)
      }
      examination.add(
        "node", .ok,
        "a node runs\(status.port.map { " on port \($0)" } ?? ""); "
          + "\(connected.count) of \(status.peers.count) peers connected")
      if connected.isEmpty, !status.peers.isEmpty {
        examination.checkFirewall(port: status.port)
      }
      for peer in connected.prefix(Self.mostAsked) {
        await examination.checkTables(of: peer.node, from: status.node, client)
      }
      examination.judgeVersions(status, connected: status.peers.filter { $0.protocol != nil })
      // A node of an earlier version does not know the question.
      let port = connected.isEmpty ? 0 : PortReport.patience
      if let report: PortReport = try? await client.ask(.port(milliseconds: port)) {
        examination.judge(report, firewalls: Firewall.seen())
      }
      if let clock = status.clock { examination.judge(clock, connected) }
      examination.judge(standing: status.standing)
      for remark in status.remarks where remark != status.standing?.remark {
        examination.add("status", .warning, remark)
      }
      return Set(connected.map(\.id))
    } catch {
      examination.add("node", .error, error.message, error.remedy)
      return []
    }
  }
}

/// Findings as they are made.
struct Examination {
  let path: String
  private var findings: [DoctorReport.Finding] = []
  var size: SizeReport?

  init(path: String) { self.path = path }

  var report: DoctorReport { DoctorReport(findings: findings, size: size) }

  func hasFinding(_ check: String) -> Bool { findings.contains { $0.check == check } }

  mutating func add(
    _ check: String, _ level: DoctorReport.Level, _ text: String, _ remedy: String? = nil
  ) {
    findings.append(
      DoctorReport.Finding(check: check, level: level, text: text, remedy: remedy))
  }

  mutating func checkPermissions(_ sidecar: Sidecar) {
    var status = stat()
    guard stat(sidecar.folder, &status) == 0 else {
      return add("permissions", .error, "\(sidecar.folder) cannot be read")
    }
    if status.st_mode & 0o077 != 0 {
      add(
        "permissions", .error, "\(sidecar.folder) can be read by others",
        "chmod 700 \(shellWord(sidecar.folder))")
    } else {
      add("permissions", .ok, "\(sidecar.folder) is for its owner alone")
    }
  }

  /// Whether the key that rules the site would survive the loss of this machine.
  mutating func checkSiteKey(_ sidecar: Sidecar) {
    guard let keys = try? KeyFolder(sidecar).keys(), keys.site != nil else { return }
    if (try? sidecar.record())?.isSiteKeyExported == true {
      add("site key", .ok, "the site key is here, and was written down")
    } else {
      add(
        "site key", .warning,
        "the site key is on this machine and was never exported; if the machine is lost, nobody "
          + "can be made an admin any more",
        "flotilla export-site-key \(shellWord(path)) FILE, then lock the file away")
    }
  }

  /// Opens the replica, or looks with a plain connection while a node has it.
  mutating func checkInside(
    _ sidecar: Sidecar, repair isAsked: Bool
  ) throws(FlotillaError) {
    let lock = try sidecar.lock()
    defer { lock?.release() }
    let repair = isAsked && lock != nil
    if isAsked, lock == nil {
      add(
        "repair", .error, "a node runs for \(path), so it cannot be repaired now",
        "flotilla stop \(shellWord(path)), then flotilla doctor \(shellWord(path)) "
          + "--repair, then run it again.")
    }
    do throws(StoreError) {
      let store = try Store(path: sidecar.database, inspects: false)
      var health = try store.survey.health()
      // Nobody knows of a damaged table what it has.
      if repair, health.isWhole, !health.hasJournal || !health.uncaptured.isEmpty {
        try store.repair()
        let clock = try NodeClock(store, .here)
        while try store.fold(at: clock.now).hasMore {}
        // Without the time of the site nothing can be taken in.
        let isLeft = try store.isComparing()
        add(
          "repair", .ok,
          "triggers and journal were made anew; tables "
            + (isLeft ? "are compared once this node knows the time of the site" : "were compared"))
        health = try store.survey.health()
      }
      judge(health)
      let names = try AuthorNames(store)
      let stray = try judgeStray(store, names, repair: repair)
      try judgeRows(
        in: sidecar.database,
        asked: try store.tableSurvey.askedTables().map(store.tables.siteName) + stray,
        named: store.tables.nameHere)
      judgeReferences(try store.tableSurvey.brokenReferences())
      judgeColumns(try store.columns.kept())
      judgeKeys(try store.tableSurvey.waitingKeys(), names)
      judge(try store.survey.size(), isNodeRunning: lock == nil)
      judge(try store.untracked.all(), takesNew: try store.untracked.areTakenIn())
      // A node that runs tells it itself.
      if lock != nil {
        judge(try store.tableSurvey.waitingTables())
        judgeDerived(try store.keptDerivedTrouble())
      }
    } catch {
      let error = FlotillaError(error, path: path)
      add("file", .error, error.message, error.remedy)
    }
  }

  private mutating func judge(_ health: FileHealth) {
    if let damage = health.damage {
      add(
        "file", .error, "the file is damaged: \(damage)",
        "sqlite3 \(shellWord(path)) '.recover', or leave and join again.")
    } else if let lost = health.lostRows {
      add(
        "file", .error, "the file is damaged in \(lost)",
        "Make its indexes anew: sqlite3 \(shellWord(path)) REINDEX, then: flotilla verify "
          + shellWord(path))
    } else {
      add("file", .ok, "the file is sound (\(sized(health.bytes)))")
    }
    if let breach = health.breach {
      add(
        "checks", .warning, "a row breaks a CHECK of its table: \(breach)",
        "A program with checks off has written it, or the CHECK is newer. On other machines it "
          + "waits outside its table (flotilla conflicts DB --parked): correct it here with SQL.")
    }
    if let misfit = health.misfit {
      add(
        "checks", .warning, "a row has a value that its column cannot have: \(misfit)",
        "If the column is computed, correct with SQL what it is computed from; else the value. "
          + "Nothing else is wrong with the file.")
    }
    if !health.hasJournal {
      add(
        "journal", .error,
        "the table _flotilla_journal is missing, so programs cannot write to tracked tables",
        "Stop the node if it runs (flotilla stop \(shellWord(path))), then: flotilla doctor "
          + "\(shellWord(path)) --repair, and run it again.")
    }
    for table in health.uncaptured {
      add(
        "schema", .error, "the triggers of \(table) are missing or changed",
        "flotilla doctor \(shellWord(path)) --repair, or start the node: it renews them.")
    }
    if health.hasJournal, health.uncaptured.isEmpty {
      add("schema", .ok, "every tracked table is captured")
    }
    if health.journalMode != "wal" {
      add(
        "journal mode", .warning, "the journal mode is \(health.journalMode)",
        "Start the node: it puts the file back into WAL mode.")
    }
    if health.walBytes > 256 << 20 {
      add(
        "wal", .warning, "the write-ahead log has \(sized(health.walBytes))",
        "Find the program that keeps a read transaction open.")
    }
  }

  /// What a node that runs tells in its status as well.
  private mutating func judgeDerived(_ trouble: String?) {
    guard let trouble else { return }
    add(
      "index", .warning,
      "a trigger that keeps an index or a cache failed (\(trouble)); what it keeps is stale here",
      "Fill that anew with SQL, then make the trigger anew under another name: so Flotilla knows.")
  }

  mutating func checkDiscovery() async {
    let discovery = Discovery(serviceType: "_flotilla._tcp")
    let alarm = Task {
      try? await Task.sleep(for: .seconds(2))
      await discovery.stop()
    }
    defer { alarm.cancel() }
    var reason = "Avahi does not answer"
    for await event in discovery.events {
      if case .available = event {
        await discovery.stop()
        return add("discovery", .ok, "Avahi answers")
      }
      if case .unavailable(let why) = event {
        reason = why
        break
      }
    }
    await discovery.stop()
    add(
      "discovery", .warning, "peers cannot be found by themselves: \(reason)",
      "Install and start avahi-daemon, or name peers with --peer HOST:PORT.")
  }
}
