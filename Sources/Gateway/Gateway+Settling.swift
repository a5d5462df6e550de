import Flotilla

/// Conflicts and parked rows, settled as `flotilla conflicts restore` and `dismiss` do.
extension Gateway {
  /// One conflict by its number, settled or not, as the list of all has it.
  func conflict(
    _ id: String, _ database: GatewayDatabase, _ token: AccessToken
  ) async throws(Problem) -> HTTPResponse {
    guard token.readsAll else {
      throw Problem(403, "not-allowed", "conflicts are for tokens that may read every table")
    }
    return try await reports.pass("conflicts") { () throws(Problem) in
      do throws(FlotillaError) {
        if let number = Int(id) {
          return .json(JSON(reflecting: try await database.replica.conflict(number)))
        }
      } catch {
        // There is none of that number.
        guard error.code == .refused else { throw Problem(error) }
      }
      throw Problem(404, "resource", "there is no conflict \(id) on this node")
    }
  }

  func settle(
    _ id: String, _ what: String, _ database: GatewayDatabase, _ token: AccessToken
  ) async throws(Problem) -> HTTPResponse {
    guard token.writesAll else {
      throw Problem(403, "not-allowed", "only a token that may write every table settles conflicts")
    }
    guard database.writes.enter(for: token) else {
      throw .later("busy", "too many clients write at a time")
    }
    defer { database.writes.leave(for: token) }
    let replica = database.replica
    do throws(FlotillaError) {
      switch (Int(id), what) {
      case (let number?, "restore"):
        return .json(JSON(reflecting: try await replica.restoreConflict(number)))
      case (let number?, "dismiss"):
        return .json(JSON(reflecting: try await replica.dismissConflict(number)))
      default: break
      }
    } catch {
      throw Problem(error)
    }
    throw Problem(404, "resource", "there is no such resource")
  }
}
