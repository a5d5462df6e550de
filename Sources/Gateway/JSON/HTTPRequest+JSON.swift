extension HTTPRequest {
  /// The body, which must be JSON and say so.
  func json() throws(Problem) -> JSONValue {
    let type = header("content-type")?.split(separator: ";").first.map { $0.trimmed }
    guard type?.lowercased() == "application/json" else {
      throw Problem(
        415, "media-type", "a body is JSON", remedy: "Send Content-Type: application/json")
    }
    do throws(JSONError) {
      return try JSONReader.read(body)
    } catch {
      throw .badRequest("json", "\(error.message) (at byte \(error.offset))")
    }
  }
}
