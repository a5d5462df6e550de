import FoundationEssentials
import Network
import Replication

extension Node {
  /// How many ports after the wanted one are tried.
  static let portsTried = 200

  /// Opens the port and the control socket, and begins to find and to be found.
  func start() async throws(FlotillaError) {
    if mode == .offline { return }
    // Others may know of this file from now on: what is missing comes by rows.
    PageFetch.removeFiles(in: sidecar)
    if copy.unfinished == nil { await beginUndoBook() }
    try await startListening()
    if mode == .lasting { try await startControl() }
    startAccepting()
    if mode == .lasting { startWatching() } else { startPulling() }
    if mode == .lasting {
      startTakingIn()
      // Takes away what a killed process has left of a copy.
      _ = pages
    }
    startDiscovery()
    await advertise()
    work.loop(Task { await self.notice(.patrol) })
    if copy.unfinished != nil { work.loop(Task { await self.awaitFirstCopy() }) }
    await startMesh()
  }

  /// The port that the node listens on.
  var port: UInt16? { listener?.port }

  private func startListening() async throws(FlotillaError) {
    var record = try sidecar.record()
    do {
      if let text = options.listen {
        let wanted = try ListenAddress(text)
        listener = try await Listener(
          host: wanted.host, port: wanted.port,
          tryNext: options.triesNextPorts ? Self.portsTried : 0)
      } else {
        let wanted = mode == .brief ? 0 : record.port ?? Endpoint.defaultPort
        listener = try await Listener(host: nil, port: wanted, tryNext: Self.portsTried)
      }
    } catch {
      throw FlotillaError(
        .system, "cannot listen\(options.listen.map { " on \($0)" } ?? ""): \(error)",
        remedy: "Choose an address of this machine and a free port: --listen HOST:PORT.")
    }
    // The first one stays its own, for a firewall or somebody's `--at` may name it: where another
    // program has it, the next one is for this time.
    if mode == .lasting, options.listen == nil, let port = listener?.port, record.port == nil {
      record.port = port
      try sidecar.save(record)
    }
  }

  /// The port that this node takes when it is free; nil if it was told where to listen.
  var ownPort: UInt16? { options.listen == nil ? (try? sidecar.record())?.port : nil }

  private func startAccepting() {
    guard let listener else { return }
    work.loop(
      Task {
        while !Task.isCancelled {
          do throws(NetworkError) {
            let channel = try await listener.accept()
            self.welcome(channel)
            while self.strangers.isCrowded, !Task.isCancelled {
              try? await Task.sleep(for: .milliseconds(2))
            }
          } catch {
            if error.code != .closed { self.warn("cannot accept a connection: \(error)") }
            return
          }
        }
      })
  }

  /// A lasting node's patrol does this by the way: a peer that does not answer loses its turn.
  private func startPulling() {
    work.loop(
      Task {
        while (try? await Task.sleep(for: .milliseconds(Self.slowPoll))) != nil {
          await self.time(.looked)
          await self.pullNext()
        }
      })
  }

  private func startControl() async throws(FlotillaError) {
    let path = try ControlSocket.path(database: sidecar.database)
    do {
      let server = try await ControlServer(path: path) { [weak self] request, listener in
        guard let self else { return Data() }
        return await self.answer(request, telling: listener)
      }
      await server.start()
      control = server
      if !sidecar.noteSocket(path) {
        warn("cannot note where commands are answered; ask with this XDG_RUNTIME_DIR: \(path)")
      }
    } catch {
      throw FlotillaError(.node, "cannot open the control socket: \(error)")
    }
  }
}
